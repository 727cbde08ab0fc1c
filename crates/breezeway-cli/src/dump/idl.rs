//! The names and types of a .thrift file, for messages of its services.

use std::collections::HashMap;
use std::path::PathBuf;

use breezeway_idl::model::{Method, Schema};
use breezeway_shm::Entry;
use breezeway_thrift::{Limits, Slice};

use super::fields::opens;
use crate::call;
use crate::failure::Failure;
use crate::thrift::printer::Printer;

/// The .thrift file that a command line names.
#[derive(Debug, clap::Args)]
pub(super) struct IdlArgs {
    /// Print bodies decoded, with the names of this .thrift file
    #[arg(long, value_name = "FILE")]
    idl: Option<PathBuf>,
    /// Another directory to search for included files (repeatable)
    #[arg(long = "include-dir", short = 'I', value_name = "DIR")]
    include_dirs: Vec<PathBuf>,
}

impl IdlArgs {
    /// Reads the file, if one is named.
    pub(super) fn read(&self) -> Result<Option<Idl>, Failure> {
        let Some(file) = &self.idl else { return Ok(None) };
        let schema = breezeway_idl::read(std::slice::from_ref(file), &self.include_dirs)?;
        // The command reads one file, once.
        let schema = Box::leak(Box::new(schema));
        Ok(Some(Idl { schema, methods: call::methods_by_number(schema) }))
    }
}

/// A schema, and its methods by their numbers, each with its name.
pub(super) struct Idl {
    schema: &'static Schema,
    methods: HashMap<u32, (String, &'static Method)>,
}

impl Idl {
    /// Returns the name of the method with this number.
    pub(super) fn name(&self, method: u32) -> Option<&str> {
        self.methods.get(&method).map(|(name, _)| name.as_str())
    }

    /// Prints the message of `entry` as Thrift; `None` if it is not Thrift.
    pub(super) fn decoded(
        &self,
        entry: &Entry,
        message: &[u8],
        method: Option<u32>,
    ) -> Option<String> {
        let method = method.and_then(|number| self.methods.get(&number));
        let fields = method.map(|(_, method)| match opens(entry).is_some() {
            true => method.arguments.clone(),
            false => method.reply(),
        });
        let mut text = Vec::new();
        let from = Slice::within(Limits::default(), message).ok()?;
        let fields = fields.as_ref().map(|found| found.fields.as_slice());
        Printer::new(from, Some(self.schema), &mut text).message(fields).ok()?;
        String::from_utf8(text).ok()
    }
}
