//! OpenID Connect: logins with accounts of an identity provider, by the authorization code flow with PKCE.
//!
//! The provider is contacted when it is needed, never at the start: a provider that is down must not keep
//! anybody from logging in another way.

use crate::settings::{OidcMembership, OidcProvider};
use groma_domain::Email;
use groma_store::{ProviderAccess, ProviderAccount, Store, WorkspaceFilter};
use groma_webhooks::{AddressPolicy, Client as HttpClient, Resolver, SendError};
use openidconnect::{
    AdditionalClaims, AsyncHttpClient, AuthType, AuthorizationCode, Client, ClientId, ClientSecret,
    CsrfToken, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest,
    HttpResponse, IdTokenClaims, IdTokenFields, IssuerUrl, Nonce, OAuth2TokenResponse as _,
    PkceCodeChallenge, PkceCodeVerifier, ProviderMetadataWithLogout, RedirectUrl, Scope,
    StandardErrorResponse, StandardTokenResponse, TokenResponse as _, UserInfoClaims,
    core::{
        CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreClientAuthMethod,
        CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm,
        CoreJwsSigningAlgorithm, CoreRevocableToken, CoreRevocationErrorResponse,
        CoreTokenIntrospectionResponse, CoreTokenType,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    future::Future,
    pin::Pin,
    time::{Duration, Instant},
};
use thiserror::Error;
use tokio::sync::Mutex;

/// How long the configuration and the keys of a provider are used before they are read again.
const METADATA_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// How long a provider that failed is not asked again, so that those who wait for it do not wait one after
/// another.
const FAILURE_LIFETIME: Duration = Duration::from_secs(5);
/// How long the login page waits for the address where the session at a provider ends.
const LOGOUT_TIMEOUT: Duration = Duration::from_secs(2);
/// How often they are read again because a token is signed with an unknown key.
const MIN_METADATA_LIFETIME: Duration = Duration::from_secs(60);
/// The largest response of a provider.
const MAX_RESPONSE: usize = 1 << 20;
/// The value of the claim `amr` that stands for several factors.
const SEVERAL_FACTORS: &str = "mfa";

/// Why a login with a provider failed. The text is for the log and for `groma check`.
#[derive(Debug, Error)]
pub(crate) enum OidcError {
    /// The provider does not respond as it should.
    #[error("the identity provider {issuer} cannot be used: {reason}")]
    Provider { issuer: String, reason: String },
    /// The response of the provider is not valid.
    #[error("the response of the identity provider was rejected: {0}")]
    Rejected(String),
}

/// All claims beyond the standard ones.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct OtherClaims {
    #[serde(flatten)]
    claims: Map<String, Value>,
}

impl AdditionalClaims for OtherClaims {}

type TokenFields = IdTokenFields<
    OtherClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
type TokenResponse = StandardTokenResponse<TokenFields, CoreTokenType>;
type OidcClient = Client<
    OtherClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    TokenResponse,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// An identity provider.
pub(crate) struct Provider {
    settings: OidcProvider,
    redirect_url: String,
    http: Http,
    metadata: Mutex<Option<(Instant, CachedMetadata)>>,
}

/// The configuration of a provider, or why it could not be read.
type CachedMetadata = Result<ProviderMetadataWithLogout, String>;

/// A login that was begun: where the browser goes, and what the answer is checked against.
pub(crate) struct Authorization {
    pub(crate) url: String,
    pub(crate) state: String,
    pub(crate) nonce: String,
    pub(crate) verifier: String,
}

/// What the provider says about the user.
pub(crate) struct ProviderIdentity {
    pub(crate) account: ProviderAccount,
    pub(crate) groups: Vec<String>,
    pub(crate) has_second_factor: bool,
    /// When the user last logged in at the provider, in seconds since 1970.
    pub(crate) authenticated_at: Option<i64>,
}

impl Provider {
    /// A provider whose users return to `public_url`.
    pub(crate) fn new(settings: OidcProvider, public_url: &str) -> Result<Self, String> {
        // The operator chooses the issuer, so it may be in the private network.
        let everywhere = ["0.0.0.0/0", "::/0"].map(str::parse);
        let policy = AddressPolicy::new(everywhere.into_iter().flatten().collect());
        let roots = settings.extra_roots.as_deref();
        let version = env!("CARGO_PKG_VERSION");
        let client = HttpClient::new(policy, Resolver::System, roots, version)
            .map_err(|error| format!("oidc.{}.extra_roots: {error}", settings.name))?;
        let redirect_url = format!("{public_url}/login/with/{}/callback", settings.name);
        Ok(Self { settings, redirect_url, http: Http(client), metadata: Mutex::default() })
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    pub(crate) fn label(&self) -> &str {
        &self.settings.label
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// Begins a login. `again` makes the provider ask for the password even if the user is logged in there.
    pub(crate) async fn begin(&self, again: bool) -> Result<Authorization, OidcError> {
        let client = self.client(self.metadata(METADATA_LIFETIME).await?)?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let mut request = client
            .authorize_url(flow, CsrfToken::new_random, Nonce::new_random)
            .set_pkce_challenge(challenge)
            .add_scopes(self.settings.scopes.iter().cloned().map(Scope::new));
        if again {
            request = request.add_prompt(CoreAuthPrompt::Login).set_max_age(Duration::ZERO);
        }
        let (url, state, nonce) = request.url();
        Ok(Authorization {
            url: url.to_string(),
            state: state.into_secret(),
            nonce: nonce.secret().clone(),
            verifier: verifier.into_secret(),
        })
    }

    /// Exchanges the code of an answer for what the provider says about the user.
    pub(crate) async fn finish(
        &self,
        code: &str,
        nonce: &str,
        verifier: &str,
    ) -> Result<ProviderIdentity, OidcError> {
        let mut client = self.client(self.metadata(METADATA_LIFETIME).await?)?;
        let request = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .map_err(|error| self.unusable(chain(&error)))?
            .set_pkce_verifier(PkceCodeVerifier::new(verifier.to_owned()));
        let response = request.request_async(&self.http).await.map_err(|error| rejected(&error))?;
        let token = response.id_token();
        let token = token.ok_or_else(|| OidcError::Rejected("it has no ID token".to_owned()))?;
        let nonce = Nonce::new(nonce.to_owned());
        let mut claims = token.claims(&client.id_token_verifier(), &nonce);
        if claims.is_err() {
            // The provider may have a new key.
            client = self.client(self.metadata(MIN_METADATA_LIFETIME).await?)?;
            claims = token.claims(&client.id_token_verifier(), &nonce);
        }
        let claims = claims.map_err(|error| rejected(&error))?;
        let info = self.user_info(&client, &response, claims).await?;
        self.check_groups(claims, info.as_ref())?;
        Ok(self.identity(claims, info.as_ref()))
    }

    /// Claims that the ID token lacks, which many providers only give separately. If the groups are among them, a
    /// failed request is a failed login: without groups, the user would lose access.
    async fn user_info(
        &self,
        client: &OidcClient,
        response: &TokenResponse,
        claims: &IdTokenClaims<OtherClaims, CoreGenderClaim>,
    ) -> Result<Option<UserInfoClaims<OtherClaims, CoreGenderClaim>>, OidcError> {
        let needs_groups = self
            .groups_claim()
            .is_some_and(|claim| !claims.additional_claims().claims.contains_key(claim));
        if claims.email().is_some() && !needs_groups {
            return Ok(None);
        }
        let (token, subject) = (response.access_token().clone(), claims.subject().clone());
        // An error means that the provider has no such endpoint.
        let Ok(request) = client.user_info(token, Some(subject)) else { return Ok(None) };
        match request.request_async(&self.http).await {
            Ok(info) => Ok(Some(info)),
            Err(error) if needs_groups => Err(self.unusable(chain(&error))),
            Err(error) => {
                tracing::warn!(provider = self.name(), reason = chain(&error), "no user info");
                Ok(None)
            }
        }
    }

    /// Rejects a user with so many groups that the provider names another place for them (OpenID Connect Core,
    /// section 5.6.2): without groups, the user would lose access.
    fn check_groups(
        &self,
        claims: &IdTokenClaims<OtherClaims, CoreGenderClaim>,
        info: Option<&UserInfoClaims<OtherClaims, CoreGenderClaim>>,
    ) -> Result<(), OidcError> {
        let Some(claim) = self.groups_claim() else { return Ok(()) };
        let info = info.map(UserInfoClaims::additional_claims);
        let sources = || [Some(claims.additional_claims()), info].into_iter().flatten();
        let has_groups = sources().any(|source| source.claims.contains_key(claim));
        let names_place = |source: &OtherClaims| {
            source.claims.get("_claim_names").is_some_and(|names| !names[claim].is_null())
        };
        if has_groups || !sources().any(names_place) {
            return Ok(());
        }
        Err(OidcError::Rejected(format!(
            "it leaves out the claim `{claim}`, because the user has too many groups; let the provider \
             send only the groups that Groma uses"
        )))
    }

    fn groups_claim(&self) -> Option<&str> {
        let membership = self.settings.membership.as_ref();
        membership.filter(|rule| rule.is_managed()).map(|rule| rule.groups_claim.as_str())
    }

    fn identity(
        &self,
        claims: &IdTokenClaims<OtherClaims, CoreGenderClaim>,
        info: Option<&UserInfoClaims<OtherClaims, CoreGenderClaim>>,
    ) -> ProviderIdentity {
        // The address and its state come from the same source.
        let (email, is_verified) = match (claims.email(), info) {
            (None, Some(info)) => (info.email(), info.email_verified()),
            (email, _) => (email, claims.email_verified()),
        };
        let name = claims.name().or_else(|| info.and_then(UserInfoClaims::name));
        let name = name.and_then(|name| name.get(None)).map(|name| name.as_str().to_owned());
        let groups = self.groups_claim().map_or_else(Vec::new, |claim| {
            let of_info = info.and_then(|info| info.additional_claims().claims.get(claim));
            let groups = claims.additional_claims().claims.get(claim).or(of_info);
            groups.map_or_else(Vec::new, texts)
        });
        let methods = claims.auth_method_refs().map_or(&[][..], Vec::as_slice);
        ProviderIdentity {
            account: ProviderAccount {
                issuer: claims.issuer().to_string(),
                subject: claims.subject().to_string(),
                email: email.and_then(|email| Email::parse(email).ok()),
                is_email_verified: is_verified == Some(true),
                name,
            },
            groups,
            has_second_factor: self.settings.enforces_second_factor
                || methods.iter().any(|method| method.as_str() == SEVERAL_FACTORS),
            authenticated_at: claims.auth_time().map(|time| time.timestamp()),
        }
    }

    /// What a login gives access to.
    pub(crate) async fn access(
        &self,
        store: &Store,
        identity: &ProviderIdentity,
    ) -> Option<ProviderAccess> {
        let rule = self.settings.membership.as_ref()?;
        let email = identity.account.email.as_ref().filter(|_| identity.account.is_email_verified);
        let role = email.and_then(|email| rule.role_of(email.as_str(), &identity.groups));
        match find_workspace(store, rule).await {
            Ok(workspace) => {
                Some(ProviderAccess { workspace, role, is_managed: rule.is_managed() })
            }
            Err(error) => {
                tracing::warn!(provider = self.name(), %error, "no workspace to join");
                None
            }
        }
    }

    /// Where a user ends the session at the provider, if it has such a page.
    pub(crate) async fn logout_url(&self, return_to: &str) -> Option<String> {
        let metadata = tokio::time::timeout(LOGOUT_TIMEOUT, self.metadata(METADATA_LIFETIME));
        let metadata = metadata.await.ok()?.ok()?;
        let end = metadata.additional_metadata().end_session_endpoint.as_ref()?;
        let mut url = end.url().clone();
        url.query_pairs_mut()
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("post_logout_redirect_uri", return_to);
        Some(url.into())
    }

    /// Checks that the provider can be used.
    pub(crate) async fn check(&self) -> Result<(), OidcError> {
        let metadata = self.metadata(Duration::ZERO).await?;
        self.client(metadata).map(drop)
    }

    /// The configuration of the provider, not older than `lifetime`.
    async fn metadata(&self, lifetime: Duration) -> Result<ProviderMetadataWithLogout, OidcError> {
        let mut cached = self.metadata.lock().await;
        match &*cached {
            Some((since, Ok(metadata))) if since.elapsed() < lifetime => {
                return Ok(metadata.clone());
            }
            Some((since, Err(reason))) if since.elapsed() < FAILURE_LIFETIME => {
                return Err(self.unusable(reason.clone()));
            }
            _ => {}
        }
        let metadata = self.discover().await;
        *cached = Some((Instant::now(), metadata.clone()));
        metadata.map_err(|reason| self.unusable(reason))
    }

    async fn discover(&self) -> CachedMetadata {
        let issuer = IssuerUrl::new(self.settings.issuer.clone());
        let issuer = issuer.map_err(|error| chain(&error))?;
        let read = ProviderMetadataWithLogout::discover_async(issuer, &self.http).await;
        read.map_err(|error| chain(&error))
    }

    fn client(&self, metadata: ProviderMetadataWithLogout) -> Result<OidcClient, OidcError> {
        let redirect_url = RedirectUrl::new(self.redirect_url.clone());
        let redirect_url = redirect_url.map_err(|error| self.unusable(chain(&error)))?;
        let methods = metadata.token_endpoint_auth_methods_supported();
        let takes_basic = methods
            .is_none_or(|methods| methods.contains(&CoreClientAuthMethod::ClientSecretBasic));
        let secret = self.settings.client_secret.clone().map(ClientSecret::new);
        let id = ClientId::new(self.settings.client_id.clone());
        let client = Client::from_provider_metadata(metadata, id, secret)
            .set_auth_type(if takes_basic { AuthType::BasicAuth } else { AuthType::RequestBody })
            .set_redirect_uri(redirect_url);
        Ok(client)
    }

    fn unusable(&self, reason: String) -> OidcError {
        OidcError::Provider { issuer: self.settings.issuer.clone(), reason }
    }
}

/// The workspace that users of a provider join.
pub(crate) async fn find_workspace(
    store: &Store,
    rule: &OidcMembership,
) -> groma_store::Result<groma_domain::WorkspaceId> {
    let filter = match rule.workspace.parse() {
        Ok(id) => WorkspaceFilter::Id(id),
        Err(_) => {
            WorkspaceFilter::Name(groma_domain::workspace::WorkspaceName::parse(&rule.workspace)?)
        }
    };
    Ok(store.find_workspace(&filter).await?.id)
}

/// The texts of a claim that is a text or a list of texts.
fn texts(claim: &Value) -> Vec<String> {
    match claim {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => {
            items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

fn rejected(error: &dyn std::error::Error) -> OidcError {
    OidcError::Rejected(chain(error))
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// The guarded client, as the OpenID Connect library wants it.
struct Http(HttpClient);

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = SendError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, SendError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.0.fetch(request, MAX_RESPONSE))
    }
}
