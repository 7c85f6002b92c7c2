//! Who makes a change, and with which rights.

use crate::Result;
use groma_domain::{
    DomainError, Permission, PersonId, Role, Scope, SessionId, Timestamp, TokenId, scope::Scopes,
};

/// Who asks for a change. The transaction of the change reads their rights again
/// ([`workspaces::authorize`](crate::workspaces::authorize)): those that ended meanwhile are not used.
#[derive(Clone, Copy, Debug)]
pub enum Actor {
    /// The operator, with a shell on the server, or the program itself.
    Operator,
    /// A member for whom the program acts without a login, as the demo does.
    Member(PersonId),
    /// A user of the web application.
    Session(SessionId),
    /// A script with a token.
    Token {
        /// The token.
        token: TokenId,
        /// When it ends, by the limits of when the request was authenticated. The transaction only reads
        /// those of the workspace again.
        ends_at: Option<Timestamp>,
        /// The scope that the request requires.
        scope: Option<Scope>,
    },
}

/// The rights of an actor in a workspace, as the database has them.
#[derive(Clone, Debug)]
pub(crate) struct ActorRights {
    /// `None` for someone who is not, or no longer, a member.
    pub(crate) member: Option<(PersonId, Role)>,
    /// The scopes of the token.
    pub(crate) scopes: Option<Scopes>,
    /// Whether the token is read-only.
    pub(crate) is_read_only: bool,
}

/// An actor whose rights were read in the transaction of the change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuthorizedActor {
    pub(crate) actor: Actor,
    /// `None` for the operator.
    pub(crate) person: Option<PersonId>,
    role: Role,
    /// The scopes of the token.
    scopes: Option<Scopes>,
}

/// Who made a change, as the audit log keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoggedActor {
    /// `None` for the operator.
    pub(crate) person: Option<PersonId>,
    /// The token that the person used.
    pub(crate) token: Option<TokenId>,
}

impl From<AuthorizedActor> for LoggedActor {
    fn from(actor: AuthorizedActor) -> Self {
        let token = match actor.actor {
            Actor::Token { token, .. } => Some(token),
            Actor::Operator | Actor::Member(_) | Actor::Session(_) => None,
        };
        Self { person: actor.person, token }
    }
}

impl From<Option<PersonId>> for LoggedActor {
    fn from(person: Option<PersonId>) -> Self {
        Self { person, token: None }
    }
}

impl AuthorizedActor {
    pub(crate) const OPERATOR: Self =
        Self { actor: Actor::Operator, person: None, role: Role::Owner, scopes: None };

    /// Checks the rights that were read; `None` when the session or token has ended.
    pub(crate) fn new(actor: Actor, rights: Option<ActorRights>) -> Result<Self> {
        let ActorRights { member, scopes, is_read_only } =
            rights.ok_or(DomainError::AccessEnded)?;
        let (person, role) = member.ok_or(match actor {
            Actor::Token { .. } => DomainError::AccessEnded,
            _ => DomainError::Forbidden { required_role: Role::Viewer },
        })?;
        if let (Actor::Token { scope: Some(scope), .. }, Some(scopes)) = (actor, scopes)
            && !scopes.contains(scope)
        {
            return Err(DomainError::MissingScope(scope).into());
        }
        if is_read_only {
            return Err(DomainError::ReadOnlyToken.into());
        }
        Ok(Self { actor, person: Some(person), role, scopes })
    }

    /// The person behind the actor. The operator is not a member of the workspace, which is an error.
    pub(crate) fn member(self) -> Result<PersonId> {
        Ok(self.person.ok_or(DomainError::Forbidden { required_role: Role::Viewer })?)
    }

    /// Returns an error if the actor is a token without this scope.
    pub(crate) fn require_scope(self, scope: Scope) -> Result<()> {
        match self.scopes {
            Some(scopes) if !scopes.contains(scope) => Err(DomainError::MissingScope(scope).into()),
            _ => Ok(()),
        }
    }

    /// Returns an error unless the actor's role includes `permission`.
    pub(crate) fn require(self, permission: Permission) -> Result<()> {
        Ok(self.role.require(permission)?)
    }
}
