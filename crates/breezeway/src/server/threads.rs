//! The serving threads of a server: workers, and their guard if there are several.

use std::io;
use std::sync::Arc;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use breezeway_os::{Notifier, shortage};

use super::on_drop::OnDrop;
use super::stopper::Stopper;
use crate::call::Handler;
use crate::options::ServerOptions;
use crate::worker::{Guard, Inbox, Worker};

type Thread<'scope> = ScopedJoinHandle<'scope, io::Result<()>>;

#[derive(Default)]
pub(super) struct Threads<'scope> {
    /// The inboxes of the workers, which receive the sessions.
    pub(super) inboxes: Vec<Arc<Inbox>>,
    workers: Vec<Thread<'scope>>,
    /// The notifier that ends the guard, and its thread.
    guard: Option<(Notifier, Thread<'scope>)>,
}

impl<'scope> Threads<'scope> {
    /// Starts the threads. After an error too, [`Self::stop`] ends those that run.
    pub(super) fn start(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        options: &ServerOptions,
        handler: &Arc<impl Handler>,
        stopper: &Stopper,
    ) -> io::Result<()> {
        let (wait, drain) = (options.session.waiting(), options.drain_timeout);
        let mut guard = (options.workers > 1).then(Guard::new).transpose()?;
        for number in 0..options.workers {
            let inbox = Arc::new(Inbox::new()?);
            let mut worker = Worker::new(wait, options.hooks.clone(), Arc::clone(&inbox))?;
            if let Some(guard) = &mut guard {
                worker.guarded_by(guard)?;
            }
            let handler = Arc::clone(handler);
            let serve = move || worker.run(&*handler, drain);
            let thread = spawn(scope, &format!("breezeway-{number}"), stopper, serve)?;
            self.inboxes.push(inbox);
            self.workers.push(thread);
        }
        if let Some(guard) = guard {
            let stop = guard.stopper();
            let thread = spawn(scope, "breezeway-guard", stopper, || guard.run())?;
            self.guard = Some((stop, thread));
        }
        Ok(())
    }

    /// Ends the threads.
    pub(super) fn stop(self) -> io::Result<()> {
        // Ended before the workers, which end with the sessions that they have.
        let guarded = self.guard.map_or(Ok(()), |(stop, thread)| {
            stop.notify();
            thread.join().expect("the guard does not panic")
        });
        for inbox in &self.inboxes {
            inbox.stop();
        }
        for thread in self.workers {
            // A handler's panic does not reach this: it is caught with its call.
            thread.join().expect("a worker does not panic")?;
        }
        guarded
    }
}

/// Spawns a serving thread. If it ends, for whatever reason, the server ends with it instead of
/// handing clients to a missing thread.
fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    stopper: &Stopper,
    run: impl FnOnce() -> io::Result<()> + Send + 'scope,
) -> io::Result<Thread<'scope>> {
    let stopper = stopper.clone();
    let spawned = Builder::new().name(name.to_owned()).spawn_scoped(scope, move || {
        let _stopping = OnDrop(|| stopper.stop());
        run()
    });
    spawned.map_err(shortage::no_thread)
}
