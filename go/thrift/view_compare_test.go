package thrift_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/breezeway-ipc/breezeway/go/thrift"
)

// anyView returns the generated function of a view for views of any type.
func anyView[V any](view func(message []byte) (V, error)) func(message []byte) (any, error) {
	return func(message []byte) (any, error) { return view(message) }
}

// compareView returns an error if a view of the message differs from the struct that Unmarshal
// makes of it, or fails otherwise. A view needs no memory, so it may succeed where that is short.
func compareView(message []byte, value thrift.Struct, view func([]byte) (any, error)) error {
	expected := thrift.Unmarshal(bytes.Clone(message), value)
	got, err := view(message)
	switch {
	case errors.Is(expected, thrift.ErrMemory):
		return nil
	case fmt.Sprint(err) != fmt.Sprint(expected):
		return fmt.Errorf("%T: %v, and %T: %v", value, expected, got, err)
	case err != nil:
		if !reflect.ValueOf(got).IsZero() {
			return fmt.Errorf("%T: a view beside %v", got, err)
		}
		return nil
	}
	if err := sameValue(reflect.ValueOf(got), reflect.ValueOf(value)); err != nil {
		return fmt.Errorf("%T%w", got, err)
	}
	results := reflect.ValueOf(got).MethodByName("Read").Call(nil)
	if err, _ := results[1].Interface().(error); err != nil {
		return fmt.Errorf("%T.Read: %w", got, err)
	}
	return sameValue(reflect.ValueOf(got), results[0])
}

// sameValue compares what a view gives with a value of a struct.
func sameValue(got, expected reflect.Value) error {
	switch kind := expected.Kind(); {
	case kind == reflect.Pointer && expected.Type().Elem().Kind() == reflect.Struct:
		return sameStruct(got, expected.Elem())
	case kind == reflect.Pointer:
		return sameValue(got, expected.Elem())
	case kind == reflect.Map:
		return sameMap(got, expected)
	case kind == reflect.Slice && expected.Type().Elem().Kind() != reflect.Uint8:
		return sameList(got, expected)
	}
	if plain(got) != plain(expected) {
		return fmt.Errorf(": %v and not %v", got, expected)
	}
	return nil
}

// plain returns a value that is equal to others of the same bits.
func plain(value reflect.Value) any {
	switch value.Kind() {
	case reflect.Float64:
		return math.Float64bits(value.Float())
	case reflect.Slice:
		return string(value.Bytes())
	}
	return value.Interface()
}

func sameStruct(view, expected reflect.Value) error {
	for i := range expected.NumField() {
		name := expected.Type().Field(i).Name
		getter := view.MethodByName(name)
		if name == "Read" || name == "IndexFields" { // Methods of every view.
			getter = view.MethodByName(name + "2")
		}
		got := getter.Call(nil)[0]
		field := expected.Field(i)
		var err error
		if field.Kind() != reflect.Pointer || !field.IsNil() {
			err = sameValue(got, field)
		} else if !got.IsZero() || view.MethodByName("Has" + name).Call(nil)[0].Bool() {
			err = fmt.Errorf(": %v and not absent", got)
		}
		if err != nil {
			return fmt.Errorf(".%s%w", name, err)
		}
	}
	return nil
}

// each calls a function with the elements or pairs of a view of a container, which are counted.
func each(view reflect.Value, visit func(element []reflect.Value)) error {
	n, all := 0, view.MethodByName("All").Call(nil)[0]
	yield := func(element []reflect.Value) []reflect.Value {
		n++
		visit(element)
		return []reflect.Value{reflect.ValueOf(true)}
	}
	all.Call([]reflect.Value{reflect.MakeFunc(all.Type().In(0), yield)})
	if length := view.MethodByName("Len").Call(nil)[0].Int(); int(length) != n {
		return fmt.Errorf(": %d elements of %d", n, length)
	}
	return nil
}

// sameList compares a list or set, or a map that is a slice of pairs.
func sameList(view, expected reflect.Value) error {
	var failed []error
	n := 0
	err := each(view, func(element []reflect.Value) {
		switch {
		case n >= expected.Len():
		case len(element) == 2:
			pair := expected.Index(n)
			failed = append(failed, sameValue(element[0], pair.Field(0)),
				sameValue(element[1], pair.Field(1)))
		default:
			failed = append(failed, sameValue(element[0], expected.Index(n)))
		}
		n++
	})
	if n != expected.Len() {
		failed = append(failed, fmt.Errorf(": %d elements and not %d", n, expected.Len()))
	}
	return errors.Join(append(failed, err)...)
}

// sameMap compares a map, of which a repeated key has its last value.
func sameMap(view, expected reflect.Value) error {
	last, unequal := map[any]reflect.Value{}, 0
	err := each(view, func(pair []reflect.Value) {
		key := pair[0]
		switch {
		case key.Kind() == reflect.Float64 && math.IsNaN(key.Float()):
			unequal++
		case key.Kind() == reflect.Slice:
			last[string(key.Bytes())] = pair[1]
		default:
			last[key.Interface()] = pair[1]
		}
	})
	if len(last)+unequal != expected.Len() {
		err = errors.Join(err, fmt.Errorf(": %d pairs and not %d", len(last), expected.Len()))
	}
	for key, value := range last {
		other := expected.MapIndex(reflect.ValueOf(key))
		if !other.IsValid() {
			return fmt.Errorf(": the key %v is too much", key)
		}
		err = errors.Join(err, sameValue(value, other))
	}
	return err
}
