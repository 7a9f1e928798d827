//! Random parts of attempts: a person with a credential, and resources of any tenant.

use http::header;
use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use uuid::Uuid;

use crate::attempt::{Attempt, Reached};
use crate::marks::{self, Places};
use crate::oracle::{self, Action, Rank, Scope};
use crate::world::{COMMON, Credential, Person, Post, Private, Project, Thing, World};

/// Which of a project's things are meant.
pub type Things = fn(&Project) -> &[Thing];

/// Who calls; those of whom more is decided by little more often.
const CALLERS: [Post; 13] = [
    Post::Viewer,
    Post::Agent,
    Post::Agent,
    Post::Member,
    Post::Maintainer,
    Post::Admin,
    Post::Admin,
    Post::Teammate,
    Post::Removed,
    Post::Disabled,
    Post::Stranger,
    Post::Root,
    Post::Local,
];

/// One attempt in the making.
pub struct Draw<'a> {
    pub world: &'a World,
    pub rng: StdRng,
    pub who: &'a Person,
    pub with: &'a Credential,
}

/// A project that a request names.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    Of(&'a Project),
    /// By a key that none has.
    Missing,
}

impl<'a> Target<'a> {
    pub fn project(self) -> Option<&'a Project> {
        match self {
            Self::Of(project) => Some(project),
            Self::Missing => None,
        }
    }
}

impl<'a> Draw<'a> {
    pub fn new(world: &'a World, mut rng: StdRng) -> Self {
        let post = CALLERS.choose(&mut rng).expect("posts");
        let callers: Vec<_> = world.people.iter().filter(|one| one.post == *post).collect();
        let who = *callers.choose(&mut rng).expect("people");
        // Mostly a valid credential, so that the attempt reaches the next check.
        let is_valid = rng.random_bool(0.9);
        let fitting: Vec<_> =
            who.credentials.iter().filter(|one| one.is_valid == is_valid).collect();
        let with = fitting.choose(&mut rng).copied().or(who.credentials.choose(&mut rng));
        let with = with.expect("credentials");
        Self { world, rng, who, with }
    }

    pub fn one_in(&mut self, many: u32) -> bool {
        self.rng.random_range(0..many) == 0
    }

    pub fn rng_bool(&mut self) -> bool {
        self.rng.random_bool(0.5)
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of.choose(&mut self.rng).expect("something").clone()
    }

    /// A project: of theirs, of others, or none.
    pub fn project(&mut self) -> Target<'a> {
        if self.one_in(12) {
            return Target::Missing;
        }
        let wants_own = self.rng.random_bool(0.55);
        let who = self.who;
        let fitting =
            self.world.projects.iter().filter(|one| oracle::role(who, one).is_some() == wants_own);
        let fitting: Vec<_> = fitting.collect();
        Target::Of(match fitting.choose(&mut self.rng) {
            Some(project) => project,
            None => self.world.projects.choose(&mut self.rng).expect("projects"),
        })
    }

    /// A thing of some project, and of which.
    pub fn thing(&mut self, things: Things) -> Option<(&'a Project, &'a Thing)> {
        match self.project() {
            Target::Missing => None,
            Target::Of(project) => {
                Some((project, things(project).choose(&mut self.rng).expect("things")))
            }
        }
    }

    /// Draws a person's private data in a project, mostly in one of the caller's.
    pub fn private(&mut self) -> Option<(&'a Project, &'a Private, &'a Thing)> {
        let Target::Of(project) = self.project() else { return None };
        let own = project.private_of(self.who).filter(|_| self.rng_bool());
        let private = own.unwrap_or_else(|| project.privates.choose(&mut self.rng).expect("some"));
        Some((project, private, private.records.choose(&mut self.rng).expect("records")))
    }

    /// Draws the login of a person without a role in the project.
    pub fn outsider(&mut self, project: &Project) -> String {
        let outside = |one: &&Person| {
            one.tenant.is_some_and(|tenant| tenant != project.tenant)
                && oracle::role(one, project).is_none()
        };
        let outside: Vec<_> = self.world.people.iter().filter(outside).collect();
        outside.choose(&mut self.rng).expect("somebody").login.clone()
    }

    /// A thing of this very project.
    pub fn of(&mut self, project: &'a Project, things: Things) -> &'a Thing {
        things(project).choose(&mut self.rng).expect("things")
    }

    /// Returns the project's key in a request; an unknown key if there is no project.
    pub fn key(&mut self, target: Target<'a>) -> String {
        match target {
            Target::Of(project) => project.key.clone(),
            Target::Missing => self.name(),
        }
    }

    /// A name that nothing has, as long as a mark.
    pub fn name(&mut self) -> String {
        format!("none{:010x}", self.rng.random::<u64>() & 0xff_ffff_ffff)
    }

    /// A name that nothing has, as long as this one.
    pub fn name_like(&mut self, name: &str) -> String {
        let none = self.name();
        match name.find("zq") {
            Some(at) => format!("{}{none}", &name[..at]),
            // Things with an odd number have a mark instead.
            None => format!("{}9", &name[..name.len() - 1]),
        }
    }

    /// An id that nothing has.
    pub fn id(&mut self) -> Uuid {
        marks::id(&mut self.rng)
    }

    /// A new name, of the caller's own.
    pub fn own_name(&mut self) -> String {
        marks::mark(&mut self.rng, self.who.place_number())
    }

    /// Returns a new name that belongs to no one.
    pub fn common_name(&mut self) -> String {
        marks::mark(&mut self.rng, COMMON)
    }

    /// Returns a malformed id.
    pub fn malformed(&mut self) -> String {
        self.pick(&[
            "42",
            "..",
            "%00",
            "'%20or%20true%20--",
            "00000000-0000-0000-0000",
            "%F0%9F%92%A9",
        ])
        .to_owned()
    }

    /// Words to search by: those that all tenants use, or the mark of a thing.
    pub fn words(&mut self) -> String {
        if let Some((_, _, thing)) = self.private()
            && self.one_in(5)
        {
            return thing.mark.clone();
        }
        match self.thing(|project| &project.passages) {
            Some((_, thing)) if self.one_in(2) => thing.mark.clone(),
            Some((_, thing)) if self.one_in(3) => format!("Timer#{}", thing.mark),
            _ => {
                let subject =
                    self.pick(&["delay", "timeout", "retry", "rounding", "cache", "lock"]);
                format!("why is the {subject} of the cart timer wrong at the gateway?")
            }
        }
    }

    /// Draws the name of a task, document or directory of any project: each tenant has some of the
    /// same name.
    pub fn named(&mut self, things: Things) -> String {
        match self.thing(things) {
            Some((_, thing)) => thing.name.clone(),
            None => self.name(),
        }
    }

    /// The request as this caller sends it.
    pub fn signed(&self, attempt: Attempt) -> Attempt {
        if self.with.bearer.is_empty() {
            return attempt;
        }
        attempt.header(header::AUTHORIZATION.as_str(), format!("Bearer {}", self.with.bearer))
    }

    /// An operation that needs only a valid credential. Responses may name the caller.
    pub fn for_anyone(&self, attempt: Attempt) -> Attempt {
        let attempt = self.signed(attempt);
        if self.with.is_valid {
            let places = attempt.places | self.who.place();
            return attempt.places(places);
        }
        Attempt { reached: Reached::Credential, ..refused(attempt, 401) }
    }

    /// An operation that needs a scope and no project.
    pub fn with_scope(&self, attempt: Attempt, scope: Scope) -> Attempt {
        let attempt = self.for_anyone(attempt);
        if self.with.is_valid && !self.with.is_for(scope) {
            return Attempt { reached: Reached::Scope, ..refused(attempt, 403) };
        }
        attempt
    }

    /// An operation for administrators of the service.
    pub fn for_root(&self, attempt: Attempt) -> Attempt {
        let attempt = self.with_scope(attempt, Scope::Admin);
        if attempt.is_allowed() && !self.who.administers_service() {
            refused(attempt, 403)
        } else {
            attempt
        }
    }

    /// An operation in a project that the request names by its key.
    pub fn in_project(
        &mut self,
        attempt: Attempt,
        (least, scope): Action,
        target: Target<'a>,
    ) -> Attempt {
        let attempt = self.with_scope(attempt, scope);
        // A project that is not there is answered with those that are the caller's.
        let own = self.own_places();
        let (Target::Of(project), true) = (target, attempt.is_allowed()) else {
            return if attempt.is_allowed() { nowhere(attempt).places(own) } else { attempt };
        };
        let missing = self.name();
        let attempt = self.admitted(attempt, least, project, (project.key.clone(), missing));
        if oracle::role(self.who, project).is_none() { attempt.places(own) } else { attempt }
    }

    /// Returns the projects that the caller may list. A project that they created in an earlier
    /// attempt bears a mark of their own.
    fn own_places(&self) -> Places {
        if self.who.administers_service() {
            return Places::ALL;
        }
        let own = self.world.projects.iter().filter(|one| oracle::role(self.who, one).is_some());
        Places::all(own.map(|project| Places::one(project.place))) | self.who.place()
    }

    /// An operation on a resource that the request names by its id only; `None` if it does not
    /// exist.
    pub fn holding(
        &mut self,
        attempt: Attempt,
        (least, scope): Action,
        thing: Option<(&'a Project, &'a Thing)>,
    ) -> Attempt {
        let attempt = self.with_scope(attempt, scope);
        let (Some((project, thing)), true) = (thing, attempt.is_allowed()) else {
            return if attempt.is_allowed() { nowhere(attempt) } else { attempt };
        };
        let missing = self.id().to_string();
        self.admitted(attempt, least, project, (thing.id.to_string(), missing))
    }

    /// An operation on a resource that not every member of its project can see.
    pub fn holding_if(
        &mut self,
        is_seen: bool,
        attempt: Attempt,
        action: Action,
        thing: (&'a Project, &'a Thing),
    ) -> Attempt {
        let attempt = self.holding(attempt, action, Some(thing));
        let is_let_in = self.with.is_valid && self.with.is_for(action.1);
        if is_seen || !is_let_in || attempt.twin.is_some() {
            return attempt;
        }
        let twin = (thing.1.id.to_string(), self.id().to_string());
        Attempt { twin: Some(twin), reached: Reached::End, ..nowhere(attempt) }
    }

    /// An operation on private data, which does not exist for any other caller.
    pub fn holding_private(
        &mut self,
        attempt: Attempt,
        action: Action,
        (project, private, thing): (&'a Project, &'a Private, &'a Thing),
    ) -> Attempt {
        self.holding_if(private.owner == self.who.id, attempt, action, (project, thing))
    }

    fn admitted(
        &self,
        attempt: Attempt,
        least: Rank,
        project: &Project,
        twin: (String, String),
    ) -> Attempt {
        match oracle::role(self.who, project) {
            None => Attempt { twin: Some(twin), ..nowhere(attempt) },
            Some(role) => {
                let places = self.world.around(self.who, project);
                let attempt = attempt.places(places);
                if role < least { attempt.expect(403) } else { attempt }
            }
        }
    }
}

/// The request is refused with this; nothing of anybody is in the answer.
pub fn refused(attempt: Attempt, status: u16) -> Attempt {
    attempt.expect(status).places(Places::NONE)
}

/// Such a project or thing there is not, for this caller.
fn nowhere(attempt: Attempt) -> Attempt {
    Attempt { reached: Reached::Project, ..refused(attempt, 404) }
}

/// A request that names a project and a resource of this project, of another one, or an unknown
/// one. A resource of another project looks missing. Returns the resource if the caller may access
/// it.
pub fn naming<'a>(
    d: &mut Draw<'a>,
    things: Things,
    least: impl Fn(Option<&Project>) -> Action,
    request: impl Fn(&str, Uuid) -> Attempt,
) -> (Attempt, Option<(&'a Project, &'a Thing)>) {
    let target = d.project();
    let key = d.key(target);
    let id = match target {
        Target::Of(project) if !d.one_in(3) => d.of(project, things).id,
        _ => d.thing(things).map_or_else(|| d.id(), |(_, thing)| thing.id),
    };
    let attempt = d.in_project(request(&key, id), least(target.project()), target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else {
        return (attempt, None);
    };
    if let Some(own) = things(project).iter().find(|one| one.id == id) {
        return (attempt, Some((project, own)));
    }
    let twin = (id.to_string(), d.id().to_string());
    (Attempt { twin: Some(twin), ..attempt.expect(404) }, None)
}
