//! Services: an interface, a client, and the registration of a handler.

use super::context::Context;
use super::fields::Fields;
use super::names;
use super::naming::{MethodNames, chain, fields};
use super::structure;
use super::text::Text;
use super::types::is_nilable;
use crate::model::{
    Definition, Id, Method, Requiredness, Service, Shape, Streaming, Struct, Type, TypeKind,
};
use crate::names::Taken;

/// One method, and the service that declares it.
struct Called<'a> {
    owner: Id,
    method: &'a Method,
    names: &'a MethodNames,
    /// Names of the parameters.
    parameters: Vec<String>,
}

/// Writes a service. Its documentation was written before.
pub(crate) fn write(
    text: &mut Text,
    context: &Context<'_>,
    id: Id,
    definition: &Definition,
    service: &Service,
) {
    let name = &context.naming.names[&id];
    let methods: Vec<_> =
        chain(context.schema, id)
            .into_iter()
            .flat_map(|(owner, methods)| {
                methods.iter().zip(&context.naming.methods[&owner]).map(move |(method, names)| {
                    Called { owner, method, names, parameters: parameters(context, method) }
                })
            })
            .collect();
    let own: Vec<_> = methods.iter().filter(|called| called.owner == id).collect();
    interface(text, context, name, service, &own);
    text.blank();
    tags(text, context, name, definition, &methods);
    client(text, context, id, &methods);
    text.blank();
    register(text, context, id, &methods);
    for called in own {
        parts(text, context, &definition.name, called);
    }
}

/// Returns the names of a method's parameters, which hide no package.
fn parameters(context: &Context<'_>, method: &Method) -> Vec<String> {
    let packages: Vec<_> =
        (0..context.schema.files.len()).map(|file| context.wanted_alias(file)).collect();
    let mut taken = Taken::new(packages.iter().map(String::as_str));
    let names = method.arguments.fields.iter().map(|field| names::parameter(&field.name));
    names.map(|name| taken.give(&name)).collect()
}

fn interface(
    text: &mut Text,
    context: &Context<'_>,
    name: &str,
    service: &Service,
    own: &[&Called<'_>],
) {
    if service.extends.is_none() && own.is_empty() {
        return text.line(&format!("type {name} interface{{}}"));
    }
    text.block(&format!("type {name} interface {{"), |text| {
        if let Some(parent) = service.extends {
            text.line(&context.name(parent));
        }
        for called in own {
            text.docs(&super::docs::lines(&called.method.docs, &called.method.annotations));
            text.line(&format!("{}{}", called.names.go, called.handler(context)));
        }
    });
}

/// Writes the numbers of the methods.
fn tags(
    text: &mut Text,
    context: &Context<'_>,
    name: &str,
    definition: &Definition,
    methods: &[Called<'_>],
) {
    if methods.is_empty() {
        return;
    }
    let row = |called: &Called<'_>| {
        let new = context.runtime("rpc", "NewMethod");
        let value = format!("= {new}({:?}, {:?})", definition.name, called.method.name);
        (Vec::new(), vec![called.tag(name), value])
    };
    let rows: Vec<_> = methods.iter().map(row).collect();
    text.line("var (");
    text.indented(|text| text.rows(&rows));
    text.line(")");
    text.blank();
}

fn client(text: &mut Text, context: &Context<'_>, id: Id, methods: &[Called<'_>]) {
    let naming = context.naming;
    let (name, own, new) = (&naming.names[&id], &naming.clients[&id], &naming.makers[&id]);
    let client = context.runtime("rpc", "Client");
    text.line(&format!("// {own} makes the calls of {name}."));
    text.block(&format!("type {own} struct {{"), |text| {
        text.line(&format!("client *{client}"));
    });
    text.blank();
    text.line(&format!("// {new} returns a client of the service on the client's session."));
    let head = format!("func {new}(client *{client}) *{own} {{");
    text.block(&head, |text| text.line(&format!("return &{own}{{client}}")));
    for called in methods {
        text.blank();
        let go = &called.names.go;
        let head = format!("func (c *{own}) {go}{} {{", called.caller(context));
        text.line(&format!("// {go} calls the method {} of the service.", called.method.name));
        text.block(&head, |text| called.call(text, context, name));
    }
}

fn register(text: &mut Text, context: &Context<'_>, id: Id, methods: &[Called<'_>]) {
    let (name, register) = (&context.naming.names[&id], &context.naming.registers[&id]);
    let server = context.runtime("rpc", "Server");
    text.line(&format!("// {register} has a server serve the handler's methods."));
    let head = format!("func {register}(server *{server}, handler {name}) {{");
    if methods.is_empty() {
        return text.line(&format!("{head}}}"));
    }
    text.block(&head, |text| {
        for called in methods {
            let (kind, value) = match called.is_stream() {
                true => ("HandleStream", "stream *rpc.ServerStream"),
                false => ("Handle", "call *rpc.Call"),
            };
            context.standard("context");
            let tag = called.tag(name);
            text.line(&format!("server.{kind}({tag}, func(ctx context.Context, {value}) error {{"));
            text.indented(|text| called.serve(text, context));
            text.line("})");
        }
    });
}

/// Writes the arguments and the result of a method.
fn parts(text: &mut Text, context: &Context<'_>, service: &str, called: &Called<'_>) {
    let (method, names) = (called.method, called.names);
    let shown = format!("{service}.{}", method.name);
    if !called.is_stream() {
        text.blank();
        text.line(&format!("// {} are the arguments of {shown}.", names.arguments));
        let all = Fields::new(&method.arguments, fields(&method.arguments));
        structure::write_part(text, context, &names.arguments, &shown, &all);
    }
    if method.oneway {
        return;
    }
    text.blank();
    text.line(&format!("// {} is what {shown} returns or throws.", names.result));
    let result = Struct { shape: Shape::Struct, ..method.reply() };
    let all = Fields::new(&result, fields(&result));
    structure::write_part(text, context, &names.result, &shown, &all);
    text.blank();
    outcome(text, context, called, &all);
}

/// Writes the methods by which the runtime finds and sets exceptions.
fn outcome(text: &mut Text, context: &Context<'_>, called: &Called<'_>, fields: &Fields<'_>) {
    let name = &called.names.result;
    let (success, thrown) = fields.all.split_at(usize::from(called.method.result.is_some()));
    text.line("// Err returns the exception, or an error if the value is missing too.");
    text.block(&format!("func (p *{name}) Err() error {{"), |text| {
        for named in thrown {
            text.block(&format!("if p.{} != nil {{", named.go), |text| {
                text.line(&format!("return p.{}", named.go));
            });
        }
        for named in success {
            let missing = context.runtime("rpc", "ErrMissingResult");
            text.block(&format!("if p.{} == nil {{", named.go), |text| {
                text.line(&format!("return {missing}"));
            });
        }
        text.line("return nil");
    });
    text.blank();
    text.line("// SetErr sets the exception that err is or wraps, if the method declares it.");
    text.block(&format!("func (p *{name}) SetErr(err error) bool {{"), |text| {
        text.line(&format!("*p = {name}{{}}"));
        if thrown.is_empty() {
            return text.line("return false");
        }
        context.standard("errors");
        let tries: Vec<_> = thrown
            .iter()
            .map(|named| format!("errors.As(err, &p.{0}) && p.{0} != nil", named.go))
            .collect();
        text.line(&format!("return {}", tries.join(" || ")));
    });
}

impl Called<'_> {
    fn is_stream(&self) -> bool {
        self.method.streaming.is_stream()
    }

    fn tag(&self, service: &str) -> String {
        format!("method{service}_{}", self.names.go)
    }

    /// Returns the parameters of a call with their types, behind the context.
    fn arguments(&self, context: &Context<'_>) -> Vec<String> {
        context.standard("context");
        let arguments = self.method.arguments.fields.iter().zip(&self.parameters);
        let arguments = arguments.map(|(field, name)| {
            let is_optional = field.requiredness == Requiredness::Optional;
            format!("{name} {}", context.field(field, is_optional))
        });
        std::iter::once("ctx context.Context".to_owned()).chain(arguments).collect()
    }

    /// Returns the type of a stream's end, with the types of its messages.
    fn stream(&self, context: &Context<'_>, side: &str) -> String {
        let name = |ty: Option<&Type>| ty.map_or_else(String::new, |ty| context.struct_name(ty));
        let request = name(self.method.arguments.fields.first().map(|field| &field.ty));
        let reply = name(self.method.result.as_ref());
        let (form, types) = match (self.method.streaming, side) {
            (Streaming::Client, "Server") => ("ClientStreaming", request),
            (Streaming::Client, _) => ("ClientStreaming", format!("{request}, {reply}")),
            (Streaming::Bidirectional, _) => ("BidiStreaming", format!("{request}, {reply}")),
            _ => ("ServerStreaming", reply),
        };
        format!("{}[{types}]", context.runtime("rpc", &format!("{form}{side}")))
    }

    /// Returns the results of a call that has one reply.
    fn results(&self, context: &Context<'_>) -> String {
        match &self.method.result {
            Some(ty) => format!("(success {}, err error)", context.ty(ty)),
            None => "error".to_owned(),
        }
    }

    /// Returns the signature of the handler's method.
    fn handler(&self, context: &Context<'_>) -> String {
        let mut parameters = self.arguments(context);
        if !self.is_stream() {
            return format!("({}) {}", parameters.join(", "), self.results(context));
        }
        if self.method.streaming.of_requests() {
            parameters.truncate(1);
        }
        parameters.push(format!("stream *{}", self.stream(context, "Server")));
        let results = match self.method.streaming.of_replies() {
            true => "error".to_owned(),
            false => self.results(context),
        };
        format!("({}) {results}", parameters.join(", "))
    }

    /// Returns the signature of the client's method.
    fn caller(&self, context: &Context<'_>) -> String {
        let mut parameters = self.arguments(context);
        if !self.is_stream() {
            return format!("({}) {}", parameters.join(", "), self.results(context));
        }
        if self.method.streaming.of_requests() {
            parameters.truncate(1);
        }
        let stream = self.stream(context, "Client");
        format!("({}) (*{stream}, error)", parameters.join(", "))
    }

    /// Writes the body of the client's method.
    fn call(&self, text: &mut Text, context: &Context<'_>, service: &str) {
        let (tag, result) = (self.tag(service), context.path(self.owner, &self.names.result));
        if self.is_stream() {
            let kind = self.stream(context, "Client");
            let open = kind.replacen("rpc.", "rpc.New", 1);
            let request = match self.method.streaming.of_requests() {
                true => String::new(),
                false => format!(", {}", self.parameters.join(", ")),
            };
            return text
                .line(&format!("return {open}(ctx, c.client, {tag}, new({result}){request})"));
        }
        let arguments = structure_fields(self);
        let name = context.path(self.owner, &self.names.arguments);
        text.line(&format!("args := {name}{{{arguments}}}"));
        if self.method.oneway {
            return text.line(&format!("return c.client.Post(ctx, {tag}, &args)"));
        }
        let Some(ty) = &self.method.result else {
            return text.line(&format!("return c.client.Call(ctx, {tag}, &args, new({result}))"));
        };
        text.line(&format!("var result {result}"));
        let call = format!("c.client.Call(ctx, {tag}, &args, &result)");
        text.block(&format!("if err := {call}; err != nil {{"), |text| {
            text.line("return success, err");
        });
        let pointer = if is_nilable(ty) { "" } else { "*" };
        text.line(&format!("return {pointer}result.Success, nil"));
    }

    /// Writes the body of the function that serves a call or a stream.
    fn serve(&self, text: &mut Text, context: &Context<'_>) {
        let (go, result) = (&self.names.go, context.path(self.owner, &self.names.result));
        if self.is_stream() {
            return self.serve_stream(text, context, go, &result);
        }
        text.line(&format!("var args {}", context.path(self.owner, &self.names.arguments)));
        text.block("if err := call.Read(&args); err != nil {", |text| text.line("return err"));
        let arguments = &self.method.arguments;
        let names = fields(arguments);
        for (field, names) in arguments.fields.iter().zip(&names) {
            if field.requiredness != Requiredness::Optional {
                self.complete(text, context, &field.ty, &names.go);
            }
        }
        let arguments = names.iter().map(|names| format!(", args.{}", names.go));
        let handle = format!("handler.{go}(ctx{})", arguments.collect::<String>());
        if self.method.oneway {
            return text.line(&format!("return {handle}"));
        }
        let Some(ty) = &self.method.result else {
            return text.line(&format!("return call.Reply(new({result}), {handle})"));
        };
        text.line(&format!("success, err := {handle}"));
        self.succeed(text, context, ty);
        text.line(&format!("return call.Reply(&{result}{{Success: {}}}, err)", given(ty)));
    }

    /// Writes the default of an absent struct, which handlers need not expect.
    fn complete(&self, text: &mut Text, context: &Context<'_>, ty: &Type, go: &str) {
        if let TypeKind::Struct(id) = ty.kind {
            let new = context.path(id, &context.naming.makers[&id]);
            text.block(&format!("if args.{go} == nil {{"), |text| {
                text.line(&format!("args.{go} = {new}()"));
            });
        }
    }

    /// Writes an empty value for a nil one, which would be none.
    fn succeed(&self, text: &mut Text, context: &Context<'_>, ty: &Type) {
        if is_nilable(ty) {
            let empty = match ty.kind {
                TypeKind::Struct(id) => context.path(id, &context.naming.makers[&id]) + "()",
                _ => format!("{}{{}}", context.ty(ty)),
            };
            text.block("if success == nil {", |text| text.line(&format!("success = {empty}")));
        }
    }

    fn serve_stream(&self, text: &mut Text, context: &Context<'_>, go: &str, result: &str) {
        let kind = self.stream(context, "Server");
        let new = kind.replacen("rpc.", "rpc.New", 1);
        if self.method.streaming.of_requests() {
            if self.method.streaming.of_replies() {
                return text.line(&format!(
                    "return stream.End(handler.{go}(ctx, {new}(stream)), new({result}))"
                ));
            }
            text.line(&format!("success, err := handler.{go}(ctx, {new}(stream))"));
            return text.line(&format!("return stream.EndWith(success, err, new({result}))"));
        }
        let ty = self.method.arguments.fields.first().map(|field| context.struct_name(&field.ty));
        text.line(&format!("request := new({})", ty.unwrap_or_default()));
        text.block("if err := stream.Request(ctx, request); err != nil {", |text| {
            text.line(&format!("return stream.End(err, new({result}))"));
        });
        text.line(&format!(
            "return stream.End(handler.{go}(ctx, request, {new}(stream)), new({result}))"
        ));
    }
}

/// Returns the fields of a method's arguments, set to its parameters.
fn structure_fields(called: &Called<'_>) -> String {
    let names = fields(&called.method.arguments);
    let given = names.iter().zip(&called.parameters);
    given.map(|(names, value)| format!("{}: {value}", names.go)).collect::<Vec<_>>().join(", ")
}

fn given(ty: &Type) -> &'static str {
    if is_nilable(ty) { "success" } else { "&success" }
}
