package breezewaykitex

import (
	"strings"
	"testing"

	"github.com/cloudwego/kitex/pkg/serviceinfo"
)

func TestMethodsWithTheSameNumberAreRefused(t *testing.T) {
	info := serviceinfo.NewMethodInfo(nil, nil, nil, false)
	users := func(names ...string) map[string]*serviceinfo.ServiceInfo {
		methods := map[string]serviceinfo.MethodInfo{}
		for _, name := range names {
			methods[name] = info
		}
		return map[string]*serviceinfo.ServiceInfo{"Users": {ServiceName: "Users",
			Methods: methods, PayloadCodec: serviceinfo.Thrift}}
	}
	// Both have the number 0x6a86d734.
	_, err := methodsOf(users("m147", "m1378100"))
	if err == nil || !strings.Contains(err.Error(), "Users.m1378100") ||
		!strings.Contains(err.Error(), "rename one") {
		t.Errorf("%v", err)
	}
	if methods, err := methodsOf(users("m147", "m148")); len(methods) != 2 || err != nil {
		t.Errorf("%d methods, %v", len(methods), err)
	}
}
