### The English texts of the web application, in Fluent (https://projectfluent.org).
###
### To add a language, add a file such as `fr.ftl` with the same ids; the build embeds every file in this
### folder. Handlers and templates use a message by `t.msg("id")`, or `t.html("id")` when the text contains
### markup; its arguments follow as `.arg("name", value)`. Numbers are grouped by thousands.
###
### Messages for the browser's scripts have ids that start with `script-`. Every page contains them as
### Fluent source in `<script type="text/plain" id="messages">`; those that start with `script-map-` are
### only on pages with a map. A test fails when an id is missing, defined twice or not used.

## Numbers, dates and times

number-group-separator = ,
number-decimal-separator = .
percent = { $number }%
number-short = { $unit ->
    [billion] { $number } bn
    [million] { $number } m
    [thousand] { $number } k
   *[one] { $number }
}
degrees = { $direction ->
    [north] { $degrees } N
    [south] { $degrees } S
    [east] { $degrees } E
   *[west] { $degrees } W
}
language-name = English
yes = yes
no = no
empty-value = empty
count-more-than = more than { $count }

month-short = { $month ->
    [1] Jan
    [2] Feb
    [3] Mar
    [4] Apr
    [5] May
    [6] Jun
    [7] Jul
    [8] Aug
    [9] Sep
    [10] Oct
    [11] Nov
   *[12] Dec
}
date-day = { $day } { month-short }
date-full = { $day } { month-short } { $year }
date-month = { month-short }
date-month-year = { month-short } { $year }
date-exact = { date-full }, { $time } { $zone }

time-just-now = just now
time-soon = in a few seconds
time-yesterday = yesterday
time-tomorrow = tomorrow
time-unit = { $unit ->
    [minute] { $count } min
    [hour] { $count } h
   *[day] { $count ->
        [one] { $count } day
       *[other] { $count } days
    }
}
time-relative = { $tense ->
    [future] in { time-unit }
   *[past] { time-unit } ago
}
hours = { $hours } h

## Kinds of records

kind-title = { $kind ->
    [folder] Folders
    [assignment] Assignments
    [expense] Expenses
   *[budget] Budgets
}
kind-plural = { $kind ->
    [folder] folders
    [assignment] assignments
    [expense] expenses
   *[budget] budgets
}
record-count = { $kind ->
    [folder] { $count ->
        [one] { $count } folder
       *[other] { $count } folders
    }
    [assignment] { $count ->
        [one] { $count } assignment
       *[other] { $count } assignments
    }
    [expense] { $count ->
        [one] { $count } expense
       *[other] { $count } expenses
    }
   *[budget] { $count ->
        [one] { $count } budget
       *[other] { $count } budgets
    }
}
record-count-more-than = more than { $count } { kind-plural }
shape-count = { $count ->
    [one] { $count } shape
   *[other] { $count } shapes
}
record-new = { $kind ->
    [folder] New folder
    [assignment] New assignment
    [expense] New expense
   *[budget] New budget
}

## Layout

skip-to-content = Skip to content
nav-main = Main
nav-dashboard = Dashboard
nav-folders = Folders
nav-assignments = Assignments
nav-expenses = Expenses
nav-budgets = Budgets
nav-map = Map
nav-settings = Settings
workspaces-title = Workspaces
search-everything = Search everything
search-placeholder = Search folders, people, references
account-menu = Account menu for { $name }
menu-account = Account
menu-documentation = API documentation
menu-shortcuts = Keyboard shortcuts
menu-log-out = Log out
undo = Undo
cancel = Cancel
copy = Copy
copy-command = Copy command
edit = Edit
delete = Delete
actions = Actions
clear-filters = Clear filters
newest = ‹ Newest
older = Older ›

## Error pages

error-title-not-found = Not found
error-title-forbidden = Access denied
error-title-conflict = Conflicting change
error-title-too-many = Too many attempts
error-title-internal = Something went wrong
error-title-bad-request = Invalid request
error-not-found = This page does not exist. It may have been deleted, or it may belong to another workspace.
error-missing-role = You need the role { role-name } to do this. Ask an administrator of the workspace.
error-conflict = Someone else has changed this in the meantime. Open it again and repeat your change.
error-search-timeout = This search took too long. Type more characters, or add a filter.
error-too-many-searches = Too many searches are running. Wait a moment and try again.
error-too-many-pages = You have opened too many pages in the last minute. Wait a moment and try again.
error-too-many-exports = Too many exports are running. Wait until one is downloaded, then try again.
error-too-many-checks = Too many checks are running. Wait until one is finished, then try again.
error-export-columns = The shapes have more than 1,900 different properties, too many for columns. Export the layer as GeoJSON.
error-export-crs = Choose one of the reference systems of the menu.
error-export-format = Choose one of the formats of the menu.
error-export-outside-area = Some shapes are outside the area in which this reference system can be used. Choose another reference system.
error-export-shapefile-row = The properties are too long for a Shapefile. Export the layer as a GeoPackage.
error-export-shapefile-size = The layer is too large for a Shapefile. Export it as a GeoPackage.
error-export-sheet-rows = An Excel sheet has at most 1,048,576 rows. Export the records as CSV.
error-export-sheet-text = A text has more than 32,767 characters, the limit of Excel. Export the records as CSV.
error-http-not-allowed = The operator does not allow http URLs. Change the URL to https first.
error-layer-locked = This layer is locked. Unlock it in the settings to change its shapes.
error-reason = The request is invalid: { $reason }.
error-session-ended = Your session has ended. Log in again; nothing was changed.
error-login-required = Log in to continue.
error-cross-site = This request came from another site, so nothing was changed. Open the page on this site and try again.
error-form-expired = This page has expired or belongs to another workspace, so nothing was changed. Go back, reload the page and try again.
error-form-incomplete = This form is incomplete, so nothing was changed. Reload the page and try again.
error-not-a-form = The request is not a form. Submit the form on the page.
error-too-large = The request is too large. Shorten it and try again.
error-too-slow = The request took too long to arrive. Try again.
error-busy = The server is busy. Try again in a moment.
error-internal-read = The server could not show this page. Try again in a moment.
error-internal-change = The server could not finish the request. Your change may or may not have been saved. Check before you try again.
error-request-id = If you report this problem, include the request ID <code>{ $id }</code>.
error-home = Go to dashboard

## Login

login-title = Log in
login-submit = Log in
login-failed = The email address or the password is incorrect.
login-disabled = This account is disabled. Ask an owner of your workspace to enable it.
login-forgot-password = Forgot your password?
too-many-attempts = Too many attempts. Try again in { $unit ->
    [second] { $count ->
        [one] { $count } second
       *[other] { $count } seconds
    }
   *[minute] { $count ->
        [one] { $count } minute
       *[other] { $count } minutes
    }
}.

## Second factors and connected accounts

second-factor-title = Two-step login
second-factor-code = Code
second-factor-code-hint = The six digits that your authenticator app shows, or a recovery code
second-factor-recovery-code = Recovery code
second-factor-recovery-hint = One of the codes that you saved when you set up two-step login
second-factor-wrong = The code is incorrect or was already used.
second-factor-lost = No access to your app or passkey? Enter one of your recovery codes.
second-factor-other-account = Log in with another account
confirm-title = Confirm your login
confirm-text = This page changes how your account or workspace can be accessed. Prove that you are still { $email }.
confirm-submit = Confirm
confirm-failed = The password or the code is incorrect.
passkey-log-in = Log in with a passkey
passkey-use = Use a passkey
passkey-rejected = The passkey was not accepted. Try again, or log in another way.
passkey-added = Passkey added.
passkey-removed = Passkey removed.
passkey-created = Added
passkey-last-used = Last used
passkey-remove = Remove
passkey-remove-named = Remove the passkey { $name }
passkey-name = Name of the passkey
passkey-name-example = Laptop
passkey-add = Add passkey
passkeys-heading = Passkeys
passkeys-text = A passkey logs you in with your fingerprint, face, PIN or security key, without a password.
passkeys-need-script = Passkeys need JavaScript.
passkeys-need-name = Passkeys are not available at this address: browsers offer them only for a host name over HTTPS.
security-title = Login and security
security-text = Two-step login, passkeys and connected accounts.
security-open = Manage login and security
security-required = This workspace requires two-step login. Set up an authenticator app or a passkey to continue.
security-remove-password = Remove password
security-remove-password-text = You can log in with your passkeys alone. Without a password, nobody can guess or steal it.
security-password-removed = Password removed. You now log in with a passkey.
authenticator-heading = Authenticator app
authenticator-text = An app on your phone shows a code that changes every 30 seconds. You enter it after your password.
authenticator-on = On
authenticator-set-up = Set up
authenticator-replace = Move to another phone
authenticator-remove = Turn off
authenticator-title = Set up an authenticator app
authenticator-scan = Scan this code with your authenticator app.
authenticator-qr = QR code for your authenticator app
authenticator-type = If you cannot scan it, enter this key in the app:
authenticator-open = Open in an app on this device
authenticator-code-hint = The six digits that the app shows now
authenticator-submit = Turn on
authenticator-added = Authenticator app set up. Logins now ask for its code.
authenticator-removed = Authenticator app turned off.
recovery-codes-heading = Recovery codes
recovery-codes-new = Save your recovery codes
recovery-codes-keep = Each code logs you in once if you lose your phone or passkey. Keep them in a safe place. They will not be shown again.
recovery-codes-left = { $count ->
    [0] You have used all recovery codes. Create new ones.
    [one] One unused code is left.
   *[other] { $count } unused codes are left.
}
recovery-codes-replace = Create new codes
recovery-codes-replaced = New recovery codes created. The old ones no longer work.
providers-heading = Connected accounts
provider-column = Account
provider-continue = Continue with { $label }
provider-not-connected = Not connected
provider-connect = Connect
provider-connect-named = Connect { $label }
provider-disconnect = Disconnect
provider-disconnect-named = Disconnect { $label }
provider-connected = { $label } connected. You can now log in with it.
provider-disconnected = { $label } disconnected.
provider-taken = This account of { $label } is already connected to another user.
provider-expired = The login took too long, or was started in another browser. Try again.
provider-ended = { $label } did not complete the login. Try again, or log in another way.
provider-failed = { $label } cannot be reached or rejected the login. Try again later, or log in another way.
provider-own-login = An account with your email address already exists. Log in as usual, then connect { $label } under Account › Login and security.
provider-email-not-verified = { $label } has not confirmed your email address. Ask your administrator.
provider-not-invited = Your account at { $label } has no access yet. Ask an administrator of your workspace for an invitation, and open its link.
provider-invitation-invalid = The invitation is no longer valid, or is for another email address.
provider-not-confirmed = { $label } did not confirm your login. Log out, log in again, and repeat the action.
login-ended = You are logged out here. You may still be logged in at { $label }.
login-ended-link = Log out at { $label }
workspace-require-second-factor = Require two-step login
workspace-require-second-factor-hint = Members without an authenticator app or a passkey set one up at their next visit. API tokens are not affected.

## First setup

setup-page-title = Setup
setup-title = Set up { $service }
setup-intro = This creates the first workspace, with you as its owner.
setup-workspace-name = Workspace name
setup-workspace-name-hint = For example, the name of your office
setup-submit = Create workspace
setup-code-invalid = The setup code is incorrect or has expired. Open the setup link of the last start of the server.
setup-missing-title = Setup required
setup-missing-text = { $service } has no users yet. When <code>groma serve</code> started, it printed a setup link that begins with <code>{ $address }</code>, or the path of a file that contains the link. Open that link to create the first workspace and its owner.
setup-missing-hint = The link changes each time the server starts. <code>groma setup-link</code> prints the link from the file. You can also run <code>groma workspace create NAME --owner EMAIL</code>.

## Invitation

invitation-page-title = Invitation
invitation-title = Join { $workspace }
invitation-text = { $inviter } invited you to join as <b>{ $role }</b>. The invitation is valid until { $expires }.
invitation-text-without-inviter = You are invited to join as <b>{ $role }</b>. The invitation is valid until { $expires }.
invitation-join = Join
invitation-join-as = Join as { $user }
invitation-log-in-first = Already have an account? Log in
invitation-invalid-title = This invitation is no longer valid.
invitation-invalid-text = It was already used or revoked, or it has expired. Ask the sender for a new one.
invitation-joined = You have joined this workspace.
invitation-for-other = This invitation is for { $email }, but you are logged in as { $user }. Log out, then open the link again.

## Links in mails

reset-request-title = Forgot your password?
reset-request-text = Enter your email address. We will send you a link to set a new password.
reset-request-submit = Send link
reset-requested = If there is an account for { $email }, a message with a link is on its way. The link is valid for one hour.
reset-request-again = Request a new link
reset-title = Set a new password
reset-text = Choose a new password for { $email }. All sessions of this account will end.
reset-revoke-tokens = Revoke all my API tokens
reset-revoke-tokens-hint = Choose this if someone else may have used your account. Programs that use these tokens will stop working.
reset-submit = Set password
reset-done = Password changed. Log in with your new password.
verify-title = Verify your email address
verify-text = Confirm that { $email } is your email address.
verify-submit = Verify address
verify-done = Email address verified.
link-invalid-title = This link is no longer valid.
link-invalid-text = It was already used, or it has expired.

## Mails

mail-footer = This message was sent automatically by { $service } ({ $url }). Replies are not read.
mail-test-subject = Test message from { $service }
mail-test-body = This message tests the mail settings. If you can read it, { $service } can send mail.
mail-invitation-subject = Invitation to { $workspace }
mail-invitation-body =
    Hello,

    { $inviter } invited you to join the workspace { $workspace } on { $service }. Your role will be: { $role }.

    To accept, open this link. It works once and is valid until { $expires }:

    { $link }

    If you did not expect this invitation, you can ignore this message.
mail-reset-subject = Set a new password for { $service }
mail-reset-body =
    Hello,

    Someone requested a new password for the account { $email } on { $service }.

    To set a new password, open this link. It works once and is valid for one hour:

    { $link }

    If you did not request this, you can ignore this message. Your password stays the same.
mail-verification-subject = Verify your email address for { $service }
mail-verification-body =
    Hello,

    To confirm that { $email } is the address of your account on { $service }, open this link. It works once and is valid for 24 hours:

    { $link }

    If you do not have an account, you can ignore this message.
mail-sign-in-subject = New login to your { $service } account
mail-sign-in-body =
    Hello,

    Someone logged in to the account { $email } on { $service } with a browser that was not used before:

    Time: { $at }
    IP address: { $address }
    Browser: { $browser }

    If this was you, you need not do anything. Otherwise, change your password now and end the other sessions:

    { $account }
mail-token-subject = New API token for your { $service } account
mail-token-body =
    Hello,

    A new API token was created for the account { $email } on { $service }:

    Time: { $at }
    Name: { $name }
    Workspace: { $workspace }

    If you did not create it, revoke it in the settings of the workspace, and change your password:

    { $account }
mail-factor-subject = Login settings of your { $service } account changed
mail-factor-body =
    Hello,

    The ways to log in to the account { $email } on { $service } were changed at this time: { $at }. This can be an authenticator app, a passkey, recovery codes, the password, or a connected account.

    If this was not you, log in, change your password and check the settings under Login and security:

    { $account }/security
mail-token-expires-subject = An API token expires soon: { $name }
mail-token-expires-body =
    Hello,

    An API token on { $service } expires within a week:

    Name: { $name }
    Workspace: { $workspace }
    Expires: { $at }

    Programs that use it will stop working then. If they are still needed, create a new token:

    { $tokens }
mail-password-subject = Your { $service } password was changed
mail-password-body =
    Hello,

    The password of the account { $email } on { $service } was changed at this time: { $at }.

    If this was not you, set a new password now with “Forgot your password?” on the login page, and tell the administrator of your workspace.

    { $account }

## Account

account-title = Account
account-name = Name
account-name-hint = Records and activity of { $workspace } show this name.
account-name-saved = Name saved.
account-preferences = Language and theme
account-language = Language
account-theme = Theme
account-automatic = Automatic
account-theme-name = { $theme ->
    [light] Light
   *[dark] Dark
}
account-preferences-saved = Language and theme saved.
account-no-workspace = You are not a member of any workspace. Open an invitation to join one.
account-email = Email address
account-email-verified = verified
account-email-not-verified = not verified
account-verify-email = Send verification link
account-verification-sent = A message with a link was sent to { $email }.
account-verification-too-many = Too many messages were sent to this address. Try again in an hour.
account-your-email = Your email address
account-your-name = Your name
account-password = Password
account-password-hint = At least 10 characters, not easy to guess
account-current-password = Current password
account-new-password = New password
account-password-wrong = is incorrect
account-change-password = Change password
account-no-password = You log in without a password.
account-change-password-hint = Changing your password ends all other sessions.
account-password-changed = Password changed. All other sessions have ended.
account-sessions = Sessions
account-session-browser = Browser
account-session-address = IP address
account-session-opened = Logged in
account-session-last-used = Last used
account-session-current = this session
account-end-session = End
account-end-session-of = End the session in { $browser }
account-end-other-sessions = End all other sessions
account-end-all-sessions = Log out everywhere
account-all-sessions-ended = You are logged out everywhere.
account-session-ended = Session ended.
account-other-sessions-ended = All other sessions have ended.
account-browser-on = { $browser } on { $system }
account-unknown-browser-on = Unknown browser on { $system }
account-unknown-browser = Unknown browser
account-workspace = Workspace
account-role = Role
account-workspace-current = current
account-open-workspace = Open
account-open-workspace-named = Open { $name }
account-time-zone = Time zone
account-time-zone-hint = Times are shown in the time zone of your browser.
account-delete-title = Delete account
account-delete-text = You lose access immediately, and your API tokens are revoked. Your name and address are replaced with “Former member” in all workspaces; the records stay. This cannot be undone.
account-delete-confirm = Type your email address to confirm
account-delete-wrong = is not the address of your account
account-delete = Delete my account
account-deleted = Your account was deleted.

## Dashboard

dashboard-first-steps = Get started
dashboard-step-folder = <a href="/folders/new">Create a folder</a> for a project, with a client and a due date.
dashboard-step-budget = Add a budget and record expenses. The folder shows how much is left.
dashboard-step-map = Draw a parcel on <a href="/map">the map</a>, or send GeoJSON from your GIS.
dashboard-step-token = <a href="/settings/tokens">Create an API token</a> for scripts and QGIS.
dashboard-step-members = <a href="/settings/members">Invite members</a> and choose a role for each.
dashboard-overdue-assignments = Overdue assignments
dashboard-overdue-folders = Overdue folders
dashboard-overspent-budgets = Overspent budgets
dashboard-overspent = Over budget
dashboard-due-soon = Folders due within 14 days
dashboard-mine = Assigned to me
dashboard-mine-empty = No open assignments.
dashboard-all = View all
dashboard-all-of = View all: { $title }
dashboard-all-activity = View all activity
workload-title = Workload
workload-person = Person
workload-open = Open assignments
workload-overdue = Overdue
workload-hours = Estimated hours
workload-unassigned = Not assigned
workload-others = { $count ->
    [one] { $count } other person
   *[other] { $count } other people
}
workload-hint = If several people share an assignment, its hours are split equally.
workload-cut = Only the { $count } assignments that are due first are counted.
hours-title = Hours by month
hours-description = Completed assignments that were due from { $from } to { $until }: { $estimated } hours estimated, { $spent } hours spent.
hours-estimated = Estimated
hours-spent = Spent
hours-hint = Completed assignments by the month in which they were due.
burn-title = Budgets nearest to their limit
burn-budget = Budget
burn-used = Used
burn-spent-of = { $spent } of { $amount } { $currency }
burn-elapsed = { $percent } of time

## Activity

activity-title = Activity
activity-subtitle = All changes, with old and new values
activity-empty = No activity yet.
activity-no-older = No older activity.
activity-operator = The operator
activity-unknown-person = Someone
activity-deleted-status = a deleted status
activity-another-record = another
activity-moved = moved
activity-new-value = changed
activity-sentence = { $action ->
    [folder-created] { $actor } created folder { $subject }
    [folder-updated] { $actor } changed folder { $subject }
    [folder-archived] { $actor } archived folder { $subject }
    [folder-unarchived] { $actor } unarchived folder { $subject }
    [folder-deleted] { $actor } deleted folder { $subject }
    [assignment-created] { $actor } created assignment { $subject }
    [assignment-updated] { $actor } changed assignment { $subject }
    [assignment-deleted] { $actor } deleted assignment { $subject }
    [expense-created] { $actor } created expense { $subject }
    [expense-updated] { $actor } changed expense { $subject }
    [expense-deleted] { $actor } deleted expense { $subject }
    [budget-created] { $actor } created budget { $subject }
    [budget-updated] { $actor } changed budget { $subject }
    [budget-deleted] { $actor } deleted budget { $subject }
    [status-created] { $actor } created status { $subject }
    [status-updated] { $actor } changed status { $subject }
    [status-deleted] { $actor } deleted status { $subject }
    [layer-created] { $actor } created layer { $subject }
    [layer-updated] { $actor } changed layer { $subject }
    [layer-deleted] { $actor } deleted layer { $subject }
    [baseMap-created] { $actor } added base map { $subject }
    [baseMap-updated] { $actor } changed base map { $subject }
    [baseMap-deleted] { $actor } deleted base map { $subject }
    [geometries-created] { $actor } added { $created ->
        [one] { $created } shape
       *[other] { $created } shapes
    } to { $subject }
    [geometries-updated] { $actor } changed { $updated ->
        [one] { $updated } shape
       *[other] { $updated } shapes
    } in { $subject }
    [geometries-posted] { $actor } added { $created } and changed { $updated } shapes in { $subject }
    [geometries-deleted] { $actor } deleted a shape from { $subject }
    [webhook-created] { $actor } created webhook { $subject }
    [webhook-updated] { $actor } changed webhook { $subject }
    [webhook-deleted] { $actor } deleted webhook { $subject }
    [webhook-enabled] { $actor } enabled webhook { $subject }
    [webhook-disabled] { $actor } disabled webhook { $subject }
    [webhook-secretRotated] { $actor } rotated the secret of webhook { $subject }
    [webhook-gaveUp] { $actor } disabled webhook { $subject } after repeated failures
    [webhook-tested] { $actor } sent a test event to webhook { $subject }
    [webhook-redelivered] { $actor } resent deliveries to webhook { $subject }
    [member-added] { $actor } added member { $subject }
    [member-updated] { $actor } changed the role of { $subject }
    [member-renamed] { $actor } changed their name
    [member-removed] { $actor } removed member { $subject }
    [member-erased] { $actor } erased the personal data of { $subject }
    [invitation-created] { $actor } invited { $subject }
    [invitation-cancelled] { $actor } revoked an invitation
    [token-created] { $actor } created API token { $subject }
    [token-revoked] { $actor } revoked an API token
    [workspace-updated] { $actor } changed workspace { $subject }
   *[other] { $actor } changed { $subject }
}
activity-field = { $field }:
activity-group = { $actor } in folder { $folder }: { $changes }
activity-deleted-folder = (deleted)
activity-separator = ,{" "}
activity-changes = { $count ->
    [one] { $count } change
   *[other] { $count } changes
}
activity-budget-at = budget { $reference } at { $percent }
activity-part = { $action ->
    [folder-created] created the folder
    [folder-updated] changed the folder
    [folder-archived] archived the folder
    [folder-deleted] deleted the folder
    [assignment-created] added { $count ->
        [one] { $count } assignment
       *[other] { $count } assignments
    }
    [assignment-updated] changed { $count ->
        [one] { $count } assignment
       *[other] { $count } assignments
    }
    [assignment-deleted] deleted { $count ->
        [one] { $count } assignment
       *[other] { $count } assignments
    }
    [expense-created] added { $count ->
        [one] { $count } expense
       *[other] { $count } expenses
    }
    [expense-updated] changed { $count ->
        [one] { $count } expense
       *[other] { $count } expenses
    }
    [expense-deleted] deleted { $count ->
        [one] { $count } expense
       *[other] { $count } expenses
    }
    [budget-created] added { $count ->
        [one] { $count } budget
       *[other] { $count } budgets
    }
    [budget-deleted] deleted { $count ->
        [one] { $count } budget
       *[other] { $count } budgets
    }
   *[budget-updated] changed { $count ->
        [one] { $count } budget
       *[other] { $count } budgets
    }
}

## Search

search-title = Search
search-field = Search for
search-submit = Search
search-help = Enter part of a name or description, or a full reference. Case and accents are ignored: <em>chene</em> finds <em>Chêne</em>.
search-nothing-found = No results for <em>{ $term }</em>.
search-exact = Exact reference
search-hits = Search results
search-no-hits = Nothing found
search-hit-person = Person
search-hit-page = Page
search-people = People
search-all = View all
search-all-matching = View all matching { kind-plural }

## Lists of records

list-tab = { $tab ->
    [active] Active
    [archived] Archived
    [open] Open
    [done] Done
   *[cancelled] Cancelled
}
list-tabs = State
list-filter = Filter { kind-plural }
list-find = Search { kind-plural }
list-from = { $day ->
    [due] Due from
   *[incurred] From
}
list-until = { $day ->
    [due] Due until
   *[incurred] To
}
list-filter-submit = Filter
list-more-filters = More filters
list-remove-filter = Remove the filter { $filter }
list-columns = Columns
list-columns-apply = Show these columns
list-unsorted = There are too many records to sort by this column, so the newest come first. Filter the list to sort it.
list-select = Select { $reference }
list-select-all = Select all on this page
views = Views
view-current = View: { $name }
view-shared = shared
view-name = Save this list as
view-share = Share with all members
view-save = Save view
view-saved = View “{ $name }” saved.
view-delete = Delete the view { $name }
view-deleted = View “{ $name }” deleted.
export = Export
export-records = Records
export-format = Format
export-layer = Layer
export-crs = Reference system
export-crs-own = Of the layer
export-crs-own-named = Of the layer: { $crs }
export-download-records = Download records
export-download-shapes = Download shapes
cell-edit = Change { $field }:
cell-conflict = was changed by somebody else. Cancel to see the new value.
bulk-selected = Selected:
bulk-status = Set status
bulk-person = { $kind ->
    [assignment] Assign to
    [expense] Set submitter
   *[other] Set owner
}
bulk-no-one = No one
bulk-due = Due
bulk-date = Date
bulk-apply = Apply
bulk-archive = Archive
bulk-delete = Delete…
bulk-delete-title = Delete { $records }?
bulk-none-selected = Select between 1 and { $max } records first.
bulk-nothing-chosen = Choose what to change first.
bulk-changed = { $kind ->
    [folder] { $count ->
        [one] { $count } folder changed.
       *[other] { $count } folders changed.
    }
    [assignment] { $count ->
        [one] { $count } assignment changed.
       *[other] { $count } assignments changed.
    }
    [expense] { $count ->
        [one] { $count } expense changed.
       *[other] { $count } expenses changed.
    }
   *[other] { $count ->
        [one] { $count } budget changed.
       *[other] { $count } budgets changed.
    }
}
bulk-deleted = { $kind ->
    [folder] { $count ->
        [one] { $count } folder deleted.
       *[other] { $count } folders deleted.
    }
    [assignment] { $count ->
        [one] { $count } assignment deleted.
       *[other] { $count } assignments deleted.
    }
    [expense] { $count ->
        [one] { $count } expense deleted.
       *[other] { $count } expenses deleted.
    }
   *[other] { $count ->
        [one] { $count } budget deleted.
       *[other] { $count } budgets deleted.
    }
}
bulk-failed = Nothing was changed. { $reference }: { $problem }
list-none-so-far = none yet
list-range = { $first }–{ $last } of { $total }
list-range-cut = { $first }–{ $last } of { $total } · filter the list to see more
list-totals-on-page = on this page
list-previous = ‹ Previous
list-next = Next ›
kind-singular = { $kind ->
    [folder] folder
    [assignment] assignment
    [expense] expense
   *[budget] budget
}
list-empty-too-many-matches = Too many { kind-plural } match to filter them all, and none of the newest ones fit: { $filters }. Enter a longer search term.
list-empty-filters = No { kind-plural } match: { $filters }.
list-empty-page = The list is shorter: there is no page { $page }.
list-first-page = Go to the first page
list-active-filter = { $label }: { $value }
list-active-term = “{ $term }”
list-empty = { $tab ->
    [archived] No archived folders.
    [done] No completed assignments.
    [cancelled] No cancelled assignments.
    [active] No folders yet. A folder is a project. It holds assignments, budgets, expenses and shapes.
    [open] No open assignments. An assignment is a task in a folder.
   *[none] { $kind ->
        [expense] No expenses yet. An expense needs a folder, a date and an amount.
       *[budget] No budgets yet. A budget is a spending limit for a folder. Expenses count against it.
    }
}
column-reference = Reference
column-folder = Folder
column-assignment = Assignment
column-expense = Expense
column-budget = Budget
column-status = Status
column-owner = Owner
column-assigned-to = Assigned to
column-submitted-by = Submitted by
column-priority = Priority
column-due = Due
column-client = Client
column-start = Start
column-category = Category
column-vendor = Vendor
column-billable = Billable
column-estimated-hours = Estimated hours
column-spent-hours = Hours spent
column-tags = Tags
column-external-id = External ID
column-updated = Updated
column-date = Date
column-budget-used = Budget used
column-used = Used
column-spent = Spent
column-amount = Amount
filter-me = Me
filter-overdue = Overdue
filter-due-days = Within { $days } days
filter-no-date = No date
filter-over-budget = Over budget
filter-over-budget-open = Over budget, not closed
filter-tag = Tag
filter-min-amount = Amount from
filter-max-amount = to

## Fields of records

# The names of API fields in error messages and in the activity. `unknown` is the field's own name.
field-name = { $field ->
    [bbox] Location
    [archivedAt] Archived
    [assignment] Assignment
    [attributionUrl] Attribution link
    [billable] Billable
    [clientName] Client
    [customFields] Custom fields
    [declaredFields] Fields
    [dueDate] Due date
    [endDate] End date
    [estimatedHours] Estimated hours
    [externalId] External ID
    [incurredOn] Date
    [isLocked] Locked
    [order] Order
    [spentHours] Spent hours
    [startDate] Start date
    [maxZoom] Highest zoom
    [minZoom] Lowest zoom
    [tileSize] Tile size
    [hosts] Other servers
    [kind] Type
    [url] URL
    [submittedBy] Submitted by
    [unitAmount] Unit price
    [user] This account
   *[other] { $unknown }
}
field-name-label = Name
field-title = Title
field-reference = Reference
field-external-id = External ID
field-description = Description
field-status = Status
field-client = Client
field-owner = Owner
field-tags = Tags
field-start = Start
field-due = Due
field-end = End
field-currency = Currency
field-folder = Folder
field-assignment = Assignment
field-budget = Budget
field-budget-left = Remaining budget
field-priority = Priority
field-assigned-to = Assigned to
field-estimated-hours = Estimated hours
field-spent-hours = Spent hours
field-date = Date
field-amount = Amount
field-unit-price = Unit price
field-quantity = Quantity
field-category = Category
field-vendor = Vendor
field-submitted-by = Submitted by
field-billable = Billable to the client
field-spent = Spent
field-color = Color
field-custom-fields = Custom fields
status-none = No status
priority-name = { $priority ->
    [low] Low
    [normal] Normal
    [high] High
    [urgent] Urgent
   *[other] { $priority }
}

## Page of a record

record-set-status = Set
record-archive = Archive
record-unarchive = Unarchive
record-archived-since = Archived since { $date }.
record-details = Details
map-open = Open map
map-needs-script = The map needs JavaScript. The rest of this page works without it.
section-all = View all
section-all-description = View all { kind-plural }
section-add = Add
section-add-description = Add { kind-singular }
quick-add-all-fields = All fields
folder-assignments-done = { $done } of { $count } done
folder-budget-used = { $percent } of { $amount }
folder-no-assignments = No assignments.
folder-no-budgets = No budgets.
folder-no-expenses = No expenses.
folder-no-shapes = No shapes yet
assignment-no-expenses = No expenses for this assignment.
budget-over = Over budget by
budget-left = Remaining
budget-used = { $percent } used
budget-nothing-spent = Nothing spent yet.
budget-no-expenses = No expenses count against this budget.
chart-title = Expenses against budget
chart-description = { $spent } of { $amount } spent ({ $percent }%) from { $from } to { $until }. { $state ->
    [over] This is over budget.
   *[within] {""}
}
chart-description-without-amount = { $spent } spent from { $from } to { $until }.
chart-as-table = Show as table
chart-month = Month
chart-spent = Spent
chart-total = Total
chart-budget = Budget

## Forms of records

form-new = New
form-edit = Edit
form-create = { $kind ->
    [folder] Create folder
    [assignment] Create assignment
    [expense] Create expense
   *[budget] Create budget
}
form-save = Save
form-save-mine = Save my version
form-add-another = Save and add another
form-more = Reference, external ID, custom fields
form-tags-hint = Separate tags with commas
form-quantity-hint = Defaults to 1
form-currency-of-folder = Folder currency
form-linked-hint = Type a part of its name or reference
form-linked-unknown = { $kind ->
    [budget] No budget of the folder has this reference or name, or several have this name. Choose a suggestion.
    [assignment] No assignment of the folder has this reference or title, or several have this title. Choose a suggestion.
   *[folder] No folder has this reference or name, or several have this name. Choose a suggestion.
}
form-new-reference-hint = Leave empty to generate
form-reference-hint = Links that use the old reference will stop working
form-external-id-hint = The ID of this record in another system
# Why a value is invalid, to follow the name of its field. $code tells languages other than English which rule
# it is; the parameters of `Violation` in groma-domain are arguments, too.
violation = { $text }
form-custom-number = must be a number
form-custom-boolean = must be yes or no
form-custom-twice = “{ $name }” is used twice; remove one
form-custom-name = Name
form-custom-value = Value
form-custom-name-of = Name of custom field { $number }
form-custom-type-of = Type of custom field { $number }
form-custom-value-of = Value of custom field { $number }
form-custom-type = { $type ->
    [text] Text
    [number] Number
    [boolean] Yes or no
   *[null] Empty
}
record-edit-title = Edit { $title }
record-created = { $kind ->
    [folder] Folder { $reference } created.
    [assignment] Assignment { $reference } created.
    [expense] Expense { $reference } created.
   *[budget] Budget { $reference } created.
}
expense-over-budget = Budget { $budget } is over its limit: { $percent } used.
record-saved = { $kind ->
    [folder] Folder { $reference } saved.
    [assignment] Assignment { $reference } saved.
    [expense] Expense { $reference } saved.
   *[budget] Budget { $reference } saved.
}
record-unchanged = { $kind ->
    [folder] Folder { $reference } has no changes to save.
    [assignment] Assignment { $reference } has no changes to save.
    [expense] Expense { $reference } has no changes to save.
   *[budget] Budget { $reference } has no changes to save.
}
record-deleted = { $kind ->
    [folder] Folder { $reference } deleted.
    [assignment] Assignment { $reference } deleted.
    [expense] Expense { $reference } deleted.
   *[budget] Budget { $reference } deleted.
}
record-status-changed = Status of { $reference } changed.
record-status-conflict = Someone else has changed this record, so the status was not changed. Review the record, then change the status again.
folder-archived = Folder { $reference } archived.
folder-unarchived = Folder { $reference } unarchived.
conflict-title = Someone else has changed this record
conflict-text = Your changes are not saved yet. Compare the saved values with yours. To save the values in the form below, select “Save my version”.
conflict-field = Field
conflict-saved = Saved
conflict-typed = Yours
conflict-same = The saved values are the same as yours.
conflict-discard = Discard my changes
expenses-entered = Expenses in { $folder }
expenses-entered-count = { $count ->
    [one] in { $count } expense
   *[other] in { $count } expenses
}
expenses-entered-newest = in the newest { $count } expenses
expenses-entered-empty = No expenses yet.

## Deleting

delete-title = Delete { $name }
delete-nothing-else = Nothing else will be deleted.
delete-also = The following will also be deleted:
delete-keeps = The following will be kept:
delete-keeps-shapes = { $count ->
    [one] { $count } shape on the map, no longer linked to the folder
   *[other] { $count } shapes on the map, no longer linked to the folder
}
delete-keeps-expenses = { $kind ->
    [assignment] { $expenses }, no longer linked to the assignment
   *[budget] { $expenses }, no longer linked to the budget
}
delete-type = { $what ->
    [reference] Type the reference <code>{ $text }</code> to confirm
    [slug] Type the short name <code>{ $text }</code> to confirm
   *[name] Type the name <code>{ $text }</code> to confirm
}
delete-wrong-confirmation = { $confirm_with ->
    [reference] The reference does not match, so nothing was deleted. Type it exactly as shown.
    [slug] The short name does not match, so nothing was deleted. Type it exactly as shown.
   *[name] The name does not match, so nothing was deleted. Type it exactly as shown.
}
delete-conflict = Someone else has changed this record since you opened the page, so nothing was deleted. Review what will be deleted, then confirm again.

## Map

map-page-needs-script = The map needs JavaScript. Without it, open a folder to see its records.
map-nothing-to-save = There is no shape to save. Draw one first.
map-one-shape = The request contains several shapes. Save one shape at a time.
map-table-label = Shapes of { $layer }
map-table-zoom = Zoom to
map-table-zoom-to = Zoom to { $name }
map-table-feature = shape { $number }
map-table-external-id = External ID
map-table-updated = Updated
map-table-records = Linked records
map-table-pinned = Selected on the map, not on this page of the table
map-table-empty = This layer has no shapes yet.
map-table-no-match = No shapes match.
map-table-bad-query = The box must be four numbers: west, south, east, north.

## Settings: API tokens

security-log-title = Security log
security-log-subtitle = Logins, members, tokens and settings
security-log-topics = Topic
security-log-topic = { $topic ->
    [login] Logins
    [session] Sessions
    [password] Passwords
    [factor] Second factors
    [identity] Company accounts
    [user] Accounts
    [member] Members
    [invitation] Invitations
    [token] API tokens
    [webhook] Webhooks
    [export] Exports
    [command] Commands
    [backup] Backups and copies
    [workspace] Workspace
    [baseMap] Base maps
   *[all] All topics
}
security-log-empty = No entries.
security-log-time = Time
security-log-what = Event
security-log-who = By
security-log-address = Address
security-log-details = Details
security-log-stranger = Unknown
security-log-former-member = Former member
security-log-token = with the token “{ $name }”
security-log-rehearsal = trial run
security-log-second-factor = { $state ->
    [required] second factor required
   *[optional] second factor optional
}
security-log-reason = { $reason ->
    [disabled] account disabled
    [providerFailed] rejected by the identity provider
    [notConnected] account not connected
    [emailNotVerified] email address not verified
    [notInvited] no invitation
    [invitationInvalid] invitation not valid
   *[other] { $reason }
}
security-log-action = { $action ->
    [login-succeeded] Logged in
    [login-failed] Login failed
    [login-secondFactorFailed] Second step of a login failed
    [login-throttled] Login rejected: too many failed attempts
    [login-recoveryCodeUsed] Recovery code used
    [factor-appAdded] Authenticator app set up
    [factor-appRemoved] Authenticator app turned off
    [factor-passkeyAdded] Passkey added
    [factor-passkeyRemoved] Passkey removed
    [factor-recoveryCodesReplaced] Recovery codes replaced
    [factor-allRemoved] Second factors removed by the operator
    [password-removed] Password removed
    [identity-connected] Account of an identity provider connected
    [identity-disconnected] Account of an identity provider disconnected
    [logout] Logged out
    [session-ended] Session ended
    [session-othersEnded] All other sessions ended
    [session-allEnded] All sessions ended
    [password-changed] Password changed
    [password-changeFailed] Wrong password when changing it
    [password-reset] Password reset
    [user-disabled] Account disabled
    [user-enabled] Account enabled
    [user-deleted] Account deleted
    [member-added] Member added
    [member-updated] Role changed
    [member-removed] Member removed
    [member-erased] Personal data erased
    [member-renamed] Member renamed
    [invitation-created] Invitation created
    [invitation-cancelled] Invitation cancelled
    [token-created] Token created
    [token-revoked] Token revoked
    [workspace-created] Workspace created
    [workspace-updated] Workspace settings changed
    [workspace-deleted] Workspace deleted
    [webhook-created] Webhook endpoint added
    [webhook-updated] Webhook endpoint changed
    [webhook-enabled] Webhook endpoint enabled
    [webhook-disabled] Webhook endpoint disabled
    [webhook-gaveUp] Webhook endpoint disabled after failures
    [webhook-secretRotated] Webhook secret rotated
    [webhook-rekeyed] Encryption key changed
    [webhook-encrypted] Webhook secrets encrypted
    [webhook-deleted] Webhook endpoint deleted
    [baseMap-created] Base map added
    [baseMap-updated] Base map changed
    [baseMap-deleted] Base map deleted
    [export-created] Data exported
    [command-started] Data changed on the command line
    [backup-started] Backup started
    [backup-restored] Database restored from a backup
    [backup-copyStarted] Copy of the database started
   *[other] { $action }
}

tokens-title = API tokens
token-new = New token
tokens-empty = No tokens yet. Scripts, QGIS and other services use a token to read this workspace. A token can never do more than its owner.
token-create = Create token
token-copy-now = Copy this token now. It will not be shown again.
token-column-token = Token
token-column-scopes = Scopes
token-column-last-used = Last used
token-column-expires = Expires
token-no-scopes = none
token-never = never
token-ended = { $reason ->
    [revoked] revoked
   *[expired] expired
}
token-revoke = Revoke
token-revoke-named = Revoke { $name }
tokens-own-only = This list shows only your tokens. Administrators can see all tokens of the workspace.
tokens-docs = The <a href="/docs/">API documentation</a> explains how to use tokens.
token-name-hint = The script or service that will use the token, for example “QGIS office” or “Nightly export”
token-scopes-hint = Choose what the token can do. Reading statuses, layers and geometries needs no scope.
token-scope-needs-admin = Only administrators and owners can grant this scope.
token-scope-needs-editor = Viewers cannot grant this scope.
scope-description = { $scope ->
    [READ_FOLDER] List and read folders
    [READ_ASSIGNMENT] List and read assignments
    [READ_EXPENSE] List and read expenses
    [READ_BUDGET] List and read budgets
    [READ_MEMBER] List the members of the workspace
    [WRITE_FOLDER] Create, change, archive and delete folders
    [WRITE_ASSIGNMENT] Create, change and delete assignments
    [WRITE_EXPENSE] Create, change and delete expenses
    [WRITE_BUDGET] Create, change and delete budgets
    [MANAGE_STATUS] Create, change and delete statuses
   *[MANAGE_WEBHOOK] Manage webhook endpoints and their deliveries
}
token-scope-forbidden = Your role cannot grant all of these scopes. Choose other scopes.
token-expires-after = Expires after
token-expires-days = { $days } days
token-expires-never = Never
token-expires-invalid = must be 30, 90 or 365 days, or never
tokens-shortened = { $count ->
    [one] { $count } token was created for longer than { $days } days, the longest lifetime of tokens. It ends by this limit.
   *[other] { $count } tokens were created for longer than { $days } days, the longest lifetime of tokens. They end by this limit.
}
token-shortened = by the longest lifetime
token-already-created = This token was already created. If you did not copy it, revoke it and create a new one.
token-revoke-title = Revoke “{ $name }”
token-revoke-text = Requests with this token will fail immediately. A revoked token cannot be restored; create a new one instead.
token-revoked = Token “{ $name }” revoked.
token-owner = Acts for
token-owner-me = Me
token-read-only = Read-only
token-read-only-hint = Requests that change anything are rejected, whatever the scopes are.

## Settings: webhooks

webhooks-title = Webhooks
webhook-new = New endpoint
webhook-create = Create endpoint
webhooks-empty = No endpoints yet. Groma sends a signed request to an endpoint whenever a folder, assignment, expense or budget changes.
webhook-column-endpoint = Endpoint
webhook-column-events = Events
webhook-column-health = Health
webhook-column-recent = Recent deliveries
webhook-recent-description = { $count ->
    [one] Last delivery: { $failed } failed
   *[other] Last { $count } deliveries: { $failed } failed
}
webhook-health = { $state ->
    [disabled] Disabled
    [failing] Failing
    [delivering] Delivering
   *[unused] No deliveries yet
}
webhook-since = since
webhooks-docs = The <a href="/docs/">API documentation</a> explains how to verify deliveries and when failed ones are retried.
webhooks-limit = A workspace can have at most { $count } endpoints.
webhook-all-events = all events
webhook-url = URL
webhook-url-hint = The HTTPS URL that receives deliveries
webhook-url-hint-http = The HTTP or HTTPS URL that receives deliveries
webhook-secret = Secret
webhook-secret-hint = Used to sign deliveries. Leave empty to generate
webhook-events = Events
webhook-choose-all = All events
webhook-choose-all-hint = All events of folders, assignments, expenses and budgets. The choices below are ignored.
webhook-filter = Filter
webhook-filter-folders = { $count ->
    [one] { $count } folder
   *[other] { $count } folders
}
webhook-filter-layers = { $count ->
    [one] { $count } layer
   *[other] { $count } layers
}
webhook-filter-area = area { $box }
webhook-filter-notice = The endpoint receives only events of: { $filter }. Saving this form keeps this filter. To change it, use the API.
webhook-no-events = Choose at least one event, or all events.
webhook-edit-title = Edit endpoint
webhook-created = Endpoint created.
webhook-saved = Endpoint saved.
webhook-enabled = Endpoint enabled. Waiting deliveries are being sent.
webhook-disabled = Endpoint disabled. New events are not queued until you enable it again.
webhook-test-sent = Test event sent. Reload this page to see the result.
webhook-endpoint = Endpoint
webhook-send-test = Send test event
webhook-rotate = Rotate secret
webhook-disable = Disable
webhook-enable = Enable
webhook-copy-secret-now = Copy this secret now. It will not be shown again.
webhook-signature-text = Use it to verify deliveries: the header <code>{ $header }</code> is the HMAC-SHA256 of the body.
webhook-sample-text = To send a signed sample request from a terminal:
webhook-disabled-notice = This endpoint is disabled ({ $reason }). New events are not queued. Waiting deliveries are sent when you enable it.
webhook-disabled-reason = { $reason ->
    [gone] the endpoint responded 410 Gone
    [failing] no delivery succeeded for five days
    [copied] this database is a copy, made while the original was in use
    [http] the operator does not allow http URLs
    [api] through the API
   *[by] by { $name }
}
webhook-since-label = { $state ->
    [failing] Failing since
    [disabled] Disabled
   *[other] Last success
}
webhook-created-at = Created
webhook-updated-at = Updated
webhook-old-secret-until = Old secret valid until
webhook-rotate-title = Rotate secret
webhook-rotate-submit = Create new secret
webhook-rotate-note = This creates a new secret for { $url } and shows it once. While the old secret is valid, the Standard Webhooks header contains a signature for each secret. The header { $header } uses only the new secret.
webhook-rotated = New secret created.
webhook-overlap = Old secret expires
webhook-overlap-hours = { $hours ->
    [24] In 1 day
    [168] In 1 week
    [1] In 1 hour
   *[0] Immediately
}
webhook-delete = Delete endpoint
webhook-delete-title = Delete endpoint
webhook-delete-text = { $url } will receive no more events. Waiting deliveries will be cancelled, and the delivery log will be deleted.
webhook-deleted = Endpoint deleted.
deliveries-title = Deliveries
deliveries-state = State
deliveries-event = Event
deliveries-any-state = Any state
deliveries-any-event = Any event
deliveries-show = Show
deliveries-none-match = No matching deliveries.
deliveries-empty = No deliveries yet. The next matching change appears here. To try the endpoint now, send a test event.
deliveries-attempts = Attempts
deliveries-response = Response
deliveries-created = Created
deliveries-next = Next attempt
deliveries-resend-title = Resend failed deliveries
deliveries-resend-within = Failed within
deliveries-last-hour = the last hour
deliveries-last-day = the last day
deliveries-last-week = the last week
deliveries-last-month = the last 30 days
deliveries-resend = Resend
deliveries-resent = { $count ->
    [0] No delivery has failed in that time.
    [one] Resending { $count } delivery.
   *[other] Resending { $count } deliveries.
}
delivery-title = Delivery
delivery-test = test
delivery-state = { $state ->
    [waiting] waiting
    [sending] sending
    [delivered] delivered
    [failed] failed
    [cancelled] cancelled
   *[retrying] retrying
}
delivery-state-filter = { $state ->
    [waiting] Waiting
    [sending] Sending
    [delivered] Delivered
    [cancelled] Cancelled
   *[failed] Failed
}
delivery-next-attempt = Next attempt
delivery-no-attempts = No attempts yet. Attempts older than 30 days are not shown.
delivery-empty-response = The response had no body.
delivery-response-of = Response to attempt { $number }
delivery-request = Request
delivery-request-body = Request body
delivery-erased = Personal data was erased from this event, so its body has changed. It cannot be sent again.
delivery-resent = Resending the delivery.
attempt-no-response = no response

## Settings: members

members-title = Members
members-link-copy-now = Copy this link now. It will not be shown again.
members-link-hint = The link works for one person and expires in 7 days.
members-column-name = Name
members-column-role = Role
members-you = (you)
members-role-of = Role of { $name }
members-save-role = Save
members-leave = Leave
members-remove = Remove
members-remove-named = Remove { $name }
members-invite = Invite a member
members-invite-email = Email address
members-create-link = Create link
members-send-invitation = Send invitation
members-invitation-sent = Invitation sent to { $email }.
members-invitation = Pending invitation
members-invited-by = Invited by
members-invitation-expires = Expires
members-revoke-invitation = Revoke
members-revoke-invitation-of = Revoke the invitation for { $recipient }
members-invitation-revoked = Invitation revoked.
members-email-invalid = The email address { $reason }.
members-role-changed = { $name } now has the role { $role }.
members-leave-title = Leave this workspace
members-leave-text = You will lose access immediately, and your API tokens for this workspace will be revoked. Your name stays on existing records.
members-left = You have left the workspace.
members-remove-title = Remove { $name }
members-remove-text = { $name } will lose access immediately, and their API tokens for this workspace will be revoked. Their name stays on existing records.
members-removed = { $name } removed.
members-service-account = Service account
members-service-title = Service accounts
members-service-hint = A service account is a member without a login. It owns the tokens of a machine, which stay valid when people leave.
members-service-add = Add service account
members-others = Former members and other people
members-others-hint = Records name these people, but they cannot log in to this workspace. Erasing someone replaces their name and address with “Former member”; the records stay.
person-erase = Erase
person-erase-named = Erase { $name }
person-erase-title = Erase { $name }
person-erase-text = The name and address of { $name } are replaced with “Former member” in records, activity and webhook events of this workspace. The records stay. This cannot be undone.
person-erased = Personal data erased.
member-state-disabled = Disabled
member-created = Created
member-last-seen = Last seen
member-disabled-since = Disabled
member-no-tokens = No valid tokens.
member-access = { $access ->
    [own] This is your own account. You can change or delete it on the page Account.
    [not-owner] Only owners can disable or delete accounts.
   *[elsewhere] This person also belongs to a workspace that you do not own. You can only remove them from this workspace.
}
member-disable = Disable account
member-disable-hint = Disabling the account ends all its sessions immediately, and its user can no longer log in. It can be enabled again.
member-revoke-tokens = Revoke the API tokens of this account
member-revoke-tokens-hint = Programs that use these tokens will stop working. Otherwise they keep working while the account is disabled.
member-disabled = The account of { $name } is disabled.
member-enable = Enable account
member-enable-hint = This account is disabled: its user cannot log in. Revoked tokens stay revoked.
member-enabled = The account of { $name } is enabled.
member-delete = Delete account
member-delete-hint = Deleting the account erases the name and address of its user. Their records stay.
member-delete-title = Delete the account of { $name }
member-delete-text = { $name } will lose access immediately, and their API tokens will be revoked. Their name and address are replaced with “Former member” in records, activity and webhook events. The records stay. This cannot be undone.
member-deleted = Account deleted.
members-service-added = { $name } added. Create a token for it under API tokens.
role-name = { $role ->
    [viewer] viewer
    [editor] editor
    [admin] admin
   *[owner] owner
}
role-description = { $role ->
    [viewer] Viewer: can read everything
    [editor] Editor: can change records and shapes
    [admin] Admin: can also manage statuses, layers, webhooks and members
   *[owner] Owner: can also delete the workspace
}

## Settings: workspace

workspace-title = Workspace
workspace-currency = Currency
workspace-currency-hint = Default for new folders
workspace-max-token-days = Longest lifetime of API tokens, in days
workspace-max-token-days-hint = Counts from the creation of a token. Applies to existing tokens too: older ones stop working when you save. Leave empty for no limit.
workspace-offered-crs = Reference systems for GIS programs
workspace-offered-crs-hint = EPSG codes, for example EPSG:2154, EPSG:3948. The OGC API offers them for every layer, besides WGS 84, Web Mercator and the layer’s own.
workspace-max-token-days-invalid = must be a number from 1 to 36500, or empty
workspace-saved = Workspace saved.
workspace-for-scripts = API
workspace-key = Workspace key
workspace-created = Created
workspace-delete-title = Delete workspace
workspace-delete-text = This deletes all records, layers, members and tokens. It cannot be undone.
workspace-delete = Delete workspace…
workspace-delete-layers = { $count ->
    [one] { $count } layer with { $shapes }
   *[other] { $count } layers with { $shapes }
}
workspace-delete-access = all memberships and API tokens
workspace-deleted = Workspace { $name } deleted.

## Settings: statuses

statuses-title = Statuses
status-new = New status
status-create = Create status
status-add = Add
status-add-description = Add a status for { kind-plural }
status-column-status = Status
status-column-group = Group
status-column-default = Default
status-is-default = default
status-move-up = Move { $name } up
status-move-down = Move { $name } down
status-edit-named = Edit { $name }
status-delete-named = Delete { $name }
status-group = { $group ->
    [todo] to do
    [in-progress] in progress
    [done] done
   *[cancelled] cancelled
}
status-field-kind = Applies to
status-field-group = Group
status-group-hint = Assignments are completed in the group “done”, and open in the groups “to do” and “in progress”. Expenses in the group “cancelled” do not count in budgets, totals and charts; if you change the group, the budgets change.
statuses-note = Expenses with a cancelled status do not count in budgets, totals and charts.
status-field-default = Default for new records
status-edit-title = Edit { $name }
status-name-taken = “{ $name }” already exists
status-saved = Status “{ $name }” saved.
status-moved = Status “{ $name }” moved.
status-deleted = Status “{ $name }” deleted.
status-delete = Delete status
status-delete-note = { $records } with this status will get the new status, and webhooks will report each change.
status-replacement = New status for these records
status-replacement-none = None

## Settings: layers

layers-title = Layers
layer-new = New layer
layer-create = Create layer
layers-empty = No layers yet. A layer is a set of similar shapes, for example parcels, survey points or utilities. Shapes without a layer go to the layer “Submissions”.
layer-column-name = Layer
layer-column-slug = Short name
layer-column-shapes = Shapes
layer-column-type = Geometry
layer-column-updated = Updated
layer-edit-named = Edit { $name }
layer-delete-named = Delete { $name }
layers-url = QGIS and MapLibre can read these layers at <code>{ $url }</code> with an API token.
layer-geometry-type = { $type ->
    [none] none
    [point] points
    [linestring] lines
    [polygon] polygons
    [mixed] mixed
   *[other] { $type }
}
layer-edit-title = Edit { $name }
layer-slug-note = The short name “{ $slug }”, used in URLs and tiles, does not change.
layer-new-slug-note = The short name, used in URLs and tiles, is derived from the name and cannot be changed later.
layer-crs = Reference system
layer-crs-hint = For example EPSG:2154. Coordinates sent in this system are kept exactly. Leave empty for WGS 84. Cannot be changed while the layer has features.
layer-attribution = Attribution
layer-attribution-hint = The source to credit on maps. Leave empty for the name of the workspace.
layer-created = Layer “{ $name }” created.
layer-saved = Layer “{ $name }” saved.
layer-deleted = Layer “{ $name }” deleted.
layer-delete-keeps-folders = the folders that the shapes belong to
layers-order-note = On maps, a layer is drawn above those below it in this list. Points are always above lines, and lines above polygons.
layer-badge-locked = Locked
layer-move-up = Move { $name } up
layer-move-down = Move { $name } down
layer-moved = Layer “{ $name }” moved.
layer-pages = Layer pages
layer-tab-general = General
layer-tab-fields = Fields
layer-tab-style = Style
layer-lock = Lock
layer-unlock = Unlock
layer-locked = Layer “{ $name }” locked.
layer-unlocked = Layer “{ $name }” unlocked.
layer-is-locked = This layer is locked: its shapes cannot be added, changed or deleted.
layer-fields-title = Fields of { $name }
layer-fields-note = Shapes that are drawn, imported or posted must fit these fields. Other attributes can have any value. Existing shapes are checked only when their attributes change.
layer-fields-unfit = { $count ->
    [one] { $count } shape does not fit these fields yet.
   *[other] { $count } shapes do not fit these fields yet.
}
layer-fields-saved = Fields of “{ $name }” saved.
layer-field-new = New field
layer-field-add = Add field
layer-field-name = Name
layer-field-type = Type
layer-field-type-name = { $type ->
    [text] Text
    [number] Number
    [integer] Whole number
    [boolean] Yes or no
   *[date] Date
}
layer-field-unit = Unit
layer-field-unit-example = e.g. m²
layer-field-default = Default
layer-field-choices = Choices
layer-field-choices-hint = One per line. Leave empty for any value.
layer-field-required = Required
layer-field-remove = Remove
layer-tab-check = Check
layer-check-title = Check { $name }
layer-check-note = Finds shapes that cross themselves, spikes, repeated points, copies, overlaps and gaps between polygons, and shapes in the wrong place. A check changes nothing.
layer-check-tolerance = Tolerance (meters)
layer-check-tolerance-hint = Overlaps and gaps up to this width are ignored. Spikes are reported up to this width.
layer-check-invalid-tolerance = Tolerance must be a number from 0.001 to 100.
layer-check-run = Check
layer-check-result = Result
layer-check-shapes = { $count ->
    [one] { $count } shape checked
   *[other] { $count } shapes checked
}
layer-check-none = No problems found.
layer-check-incomplete = Some shapes overlap or cross too often to be compared. Some overlaps and gaps may be missing from this list.
layer-check-problem = Problem
layer-check-problems = Problems
layer-check-count = Number
layer-check-shape = Shapes
layer-check-area = Area
layer-check-place = Place
layer-check-position = { $latitude }, { $longitude }
layer-check-show = Show on the map
layer-check-first = The first 100 of each kind
layer-check-kind = { $kind ->
    [self-intersection] Crosses or touches itself
    [repeated-position] Repeated point
    [spike] Spike
    [no-extent] Without area or length
    [hole-outside] Hole outside its polygon
    [outside-area] Outside the area of the reference system
    [swapped-axes] Coordinates likely swapped
    [duplicate] Same shape twice
    [overlap] Overlap
   *[other] Gap
}
layer-check-repair = Repair
layer-check-repair-start = Repair…
layer-check-repair-note = Repair removes repeated points and spikes and resolves self-intersections. It deletes a copy if all attributes and links are equal and it has no external ID. Everything else stays as it is.
layer-check-repair-title = Repair { $name }
layer-check-repair-text = Shapes to repair: { $repaired }. Copies to delete: { $deleted }. This cannot be undone.
layer-check-repaired = Shapes repaired: { $repaired }. Copies deleted: { $deleted }.
layer-check-nothing = Nothing can be repaired automatically.
layer-style-title = Style of { $name }
layer-style-saved = Style of “{ $name }” saved.
layer-style-colors = Colors
layer-style-mode = Colors by
layer-style-mode-name = { $mode ->
    [single] One color
    [categories] Color by category
   *[ranges] Color by range
}
layer-style-color = Color of the layer
layer-style-color-hint = In the list of layers, and for all shapes without another color.
layer-style-property = Attribute
layer-style-property-none = Choose an attribute
layer-style-suggest = Fill in values
layer-style-categories = Categories
layer-style-categories-hint = Clear a value to remove it. To add a row for each value of the attribute, select “Fill in values”.
layer-style-value = Value of category { $number }
layer-style-value-color = Color of category { $number }
layer-style-ranges = Ranges
layer-style-ranges-hint = Enter the number at which each range starts. Clear a number to remove its range. To get five equal ranges, select “Fill in values”.
layer-style-from = Start of range { $number }
layer-style-from-color = Color of range { $number }
layer-style-lowest = Lowest range
layer-style-other = Color of other values
layer-style-other-label = Other values
layer-style-no-values = has no values, or too many different ones
layer-style-no-numbers = has no numbers
layer-style-legend = Legend
layer-range-all = All numbers
layer-range-below = Less than { $end }
layer-range-between = { $from } to less than { $end }
layer-range-from = { $from } or more
layer-style-drawing = Drawing
layer-style-line-width = Line width (pixels)
layer-style-point-size = Point size (pixels)
layer-style-size-hint = At zoom 18. Smaller when zoomed out.
layer-style-opacity = Opacity (%)
layer-style-label = Label
layer-style-label-none = No labels
layer-style-label-zoom = Labels from zoom
layer-style-visibility = Visibility
layer-style-min-zoom = Visible from zoom
layer-style-max-zoom = Visible up to zoom
layer-style-zoom-hint = 0 is the whole world, 14 a village, 18 a street.

## API documentation

docs-title = API documentation
docs-back = Open the application
docs-document = This page is drawn from the <a href="{ $path }">OpenAPI 3.1 document</a>, which tools can read.
docs-authentication = Authentication
docs-token-variable = The examples read the token from the shell variable <code>TOKEN</code>:
docs-scope = Scope
docs-operations = Operations
docs-errors = Errors
docs-errors-hint = The body of every error is a JSON object with these fields.
docs-main-api = Main API
docs-geo-api = Geo API
docs-requires-scope = Scope <code>{ $scope }</code>
docs-requires-token = Any token
docs-parameters = Parameters
docs-parameter = Parameter
docs-location = { $in ->
    [path] in the path
    [query] in the query
   *[header] header
  }
docs-body = Body
docs-responses = Responses
docs-example-request = Example
docs-field = Field
docs-type = Type
docs-description = Description
docs-status = Status
docs-required = required
docs-optional = optional
docs-values = Values:
docs-range = Range:
docs-length = Length:
docs-pattern = Pattern:
docs-default = Default:
docs-example = Example:
docs-headers = Headers:
docs-events = Webhook events
docs-events-hint = A webhook endpoint receives these events as POST requests.
docs-event = Event
docs-event-headers = Delivery headers
docs-event-responses = Responses of the receiver
docs-schemas = Schemas

## Settings: base maps

base-maps-title = Base maps
base-map-new = Add base map
base-map-new-named = Add { $name }
base-maps-empty = No base maps yet. Maps show the built-in base map: countries and seas. Add the map of another server, for example OpenStreetMap or the aerial images of your country.
base-maps-note = Members choose a base map in the layer panel of the map. Their browsers load it directly from these servers, and only when it is chosen.
base-map-column-name = Base map
base-map-column-kind = Type
base-map-column-hosts = Servers
base-map-column-default = Default
base-map-is-default = Default
base-map-move-up = Move { $name } up
base-map-move-down = Move { $name } down
base-map-edit-title = Edit { $name }
base-map-delete-named = Delete { $name }
base-map-kind = { $kind ->
    [xyz] Tiles (XYZ)
    [wmts] WMTS
    [wms] WMS
   *[style] MapLibre style
}
base-map-kind-note = { $kind ->
    [xyz] A URL with the zoom, column and row of a tile
    [wmts] A Web Map Tile Service in Web Mercator
    [wms] A Web Map Service that supports EPSG:3857
   *[style] A style document with vector or raster tiles
}
base-map-presets = Public services
base-map-kinds = Another service
base-map-preset = { $preset ->
    [openstreetmap] OpenStreetMap
    [ign-plan] IGN map
    [ign-aerial] IGN aerial images
    [swisstopo-map] swisstopo map
    [swisstopo-aerial] swisstopo aerial images
    [pdok-map] PDOK map
    [pdok-aerial] PDOK aerial images
   *[ordnance-survey] Ordnance Survey
}
base-map-preset-note = { $preset ->
    [openstreetmap] Worldwide. For light use; large offices should use a tile provider.
    [ign-plan] France
    [ign-aerial] France
    [swisstopo-map] Switzerland
    [swisstopo-aerial] Switzerland
    [pdok-map] Netherlands
    [pdok-aerial] Netherlands
   *[ordnance-survey] Great Britain. Requires an OS Data Hub key.
}
base-map-new-title = { $kind ->
    [xyz] Add tiles (XYZ)
    [wmts] Add a WMTS
    [wms] Add a WMS
   *[style] Add a MapLibre style
}
base-map-form-note = Check that the terms of the service allow your use. Members’ browsers contact the service directly when they show this base map.
base-map-url = URL
base-map-url-hint = { $kind ->
    [xyz] With {"{z}"}, {"{x}"} and {"{y}"}, or {"{-y}"} if rows count from the south. {"{s}"} stands for the servers a, b and c.
    [wmts] With {"{TileMatrix}"}, {"{TileRow}"} and {"{TileCol}"}. Replace other placeholders with their values. The tile matrix set must be Web Mercator (EPSG:3857).
    [wms] The address of the service. Groma adds the parameters of a map request.
   *[style] The address of the style document.
}
base-map-key = Key
base-map-key-hint = Replaces {"{key}"} in the URL. Browsers send the key, so every member can read it. If the service allows it, restrict the key to the address of this site.
base-map-layers = Layers
base-map-layers-hint = The names of the layers, separated by commas
base-map-styles = Styles
base-map-styles-hint = One for each layer, separated by commas. Leave empty for the default styles.
base-map-format = Image format
base-map-hosts = Other servers
base-map-hosts-hint = The servers that the style loads tiles, glyphs and sprites from, one per line, for example https://tiles.example.com. Browsers block all others.
base-map-attribution = Attribution
base-map-attribution-hint = The source to credit on maps
base-map-attribution-url = Attribution link
base-map-min-zoom = Lowest zoom
base-map-min-zoom-hint = Below it, maps show the built-in base map. Leave empty for 0.
base-map-max-zoom = Highest zoom
base-map-max-zoom-hint = Beyond it, the images are enlarged. Leave empty for 19.
base-map-tile-size = Tile size in pixels
base-map-default = Show by default
base-map-default-hint = Maps load it until the member chooses another one.
base-map-saved = Base map “{ $name }” saved.
base-map-moved = Base map “{ $name }” moved.
base-map-deleted = Base map “{ $name }” deleted.
base-map-delete = Delete base map
base-map-delete-text = Members who chose this base map see the default one instead.
base-map-server = Map of this server

## Scripts: messages and dialogs

script-close = Close
script-dismiss = Dismiss
script-copied = Copied
script-copy-manually = Press Ctrl+C
script-passkey-cancelled = No passkey was used. Try again, or choose another way.
script-request-failed-reload = The request failed (status { $status }). Try again, or reload the page.
script-server-unreachable = The server cannot be reached. Check your connection and try again.
script-search-place = Place on the map

## Scripts: keyboard shortcuts

script-shortcuts-title = Keyboard shortcuts
script-shortcut-search = Search
script-shortcut-new = New
script-shortcut-edit = Edit
script-shortcut-table = Open the table
script-shortcut-next-row = Next row
script-shortcut-previous-row = Previous row
script-shortcut-open-row = Open row
script-shortcut-dashboard = Dashboard
script-shortcut-folders = Folders
script-shortcut-assignments = Assignments
script-shortcut-expenses = Expenses
script-shortcut-budgets = Budgets
script-shortcut-map = Map
script-shortcut-settings = Settings
script-shortcut-help = Show shortcuts
script-key-enter = Enter
script-key-escape = Esc

## Scripts: times

script-time-now = just now
script-time-soon = in a few seconds
script-draft-restored = What you entered was kept. Check it and save.
script-time-minutes-ago = { $minutes } min ago
script-time-in-minutes = in { $minutes } min
script-time-hours-ago = { $hours } h ago
script-time-in-hours = in { $hours } h
script-time-yesterday = yesterday
script-time-tomorrow = tomorrow
script-time-days-ago = { $days ->
    [one] { $days } day ago
   *[other] { $days } days ago
}
script-time-in-days = { $days ->
    [one] in { $days } day
   *[other] in { $days } days
}
script-date-short = { $day } { $month }
script-date-with-year = { $day } { $month } { $year }
script-month = { $month ->
    [1] Jan
    [2] Feb
    [3] Mar
    [4] Apr
    [5] May
    [6] Jun
    [7] Jul
    [8] Aug
    [9] Sep
    [10] Oct
    [11] Nov
   *[12] Dec
}

## Scripts: map

script-map-title = Map
script-map-show = Show map
script-map-load-failed = The map could not be loaded. Reload the page to try again.
script-map-needs-webgl = The map needs WebGL, which this browser does not support or has disabled. Everything else works without it.
script-map-request-failed = The request failed (status { $status }).
script-map-session-expired = Your session has expired. Log in again.
script-map-unexpected-response = The server sent an unexpected response (status { $status }).
script-map-coordinates = Coordinates
script-map-toggle-attribution = Toggle attribution
script-map-find-location = Show my location
script-map-location-unavailable = Location not available
script-map-zoom-in = Zoom in
script-map-zoom-out = Zoom out
script-map-scroll-hint = Use Ctrl + scroll to zoom the map
script-map-scroll-hint-mac = Use ⌘ + scroll to zoom the map
script-map-scroll-hint-touch = Use two fingers to move the map

## Scripts: layers of the map

script-map-layer = Layer
script-map-layers = Layers
script-map-layers-empty = No layers yet. Draw a shape, or import a file.
script-map-layer-new-submissions = Submissions (new layer)
script-map-layer-opacity = Opacity of { $name }
script-map-layer-opacity-label = Opacity
script-map-layer-zoom-to = Zoom to { $name }
script-map-layer-menu = Options of { $name }
script-map-layer-locked = Locked
script-map-layer-locked-hint = This layer is locked. An administrator can unlock it in the settings.
script-map-layer-hidden-here = Not visible at this zoom
script-map-layer-style = Style
script-map-layer-check = Check shapes
script-map-export = Export
script-map-export-format = Format
script-map-export-crs = Reference system
script-map-export-download = Download
script-map-legend-other = Other values
script-map-legend-all = All numbers
script-map-legend-below = Less than { $end }
script-map-legend-between = { $from } to less than { $end }
script-map-legend-from = { $from } or more

## Scripts: base maps

script-map-base = Base map
script-map-base-built-in = Built-in base map
script-map-base-add = Add a base map
script-map-base-failed = The base map “{ $name }” could not be loaded.
script-map-sea = { $sea ->
    [north-atlantic] North Atlantic Ocean
    [south-atlantic] South Atlantic Ocean
    [north-pacific] North Pacific Ocean
    [south-pacific] South Pacific Ocean
    [indian] Indian Ocean
    [arctic] Arctic Ocean
    [southern] Southern Ocean
    [mediterranean] Mediterranean Sea
    [caribbean] Caribbean Sea
    [gulf-of-mexico] Gulf of Mexico
    [arabian] Arabian Sea
    [bay-of-bengal] Bay of Bengal
    [south-china] South China Sea
    [east-china] East China Sea
    [japan] Sea of Japan
    [okhotsk] Sea of Okhotsk
    [bering] Bering Sea
    [coral] Coral Sea
    [tasman] Tasman Sea
    [philippine] Philippine Sea
    [hudson-bay] Hudson Bay
    [gulf-of-alaska] Gulf of Alaska
    [norwegian] Norwegian Sea
    [greenland] Greenland Sea
    [barents] Barents Sea
    [kara] Kara Sea
    [labrador] Labrador Sea
    [baffin-bay] Baffin Bay
    [north] North Sea
    [baltic] Baltic Sea
    [gulf-of-bothnia] Gulf of Bothnia
    [black] Black Sea
    [caspian] Caspian Sea
    [red] Red Sea
    [persian-gulf] Persian Gulf
    [gulf-of-aden] Gulf of Aden
    [gulf-of-guinea] Gulf of Guinea
    [bay-of-biscay] Bay of Biscay
    [english-channel] English Channel
    [irish] Irish Sea
    [celtic] Celtic Sea
    [tyrrhenian] Tyrrhenian Sea
    [ligurian] Ligurian Sea
    [adriatic] Adriatic Sea
    [ionian] Ionian Sea
    [aegean] Aegean Sea
    [sargasso] Sargasso Sea
    [java] Java Sea
    [timor] Timor Sea
    [great-australian-bight] Great Australian Bight
    [mozambique-channel] Mozambique Channel
    [yellow] Yellow Sea
    [gulf-of-thailand] Gulf of Thailand
    [andaman] Andaman Sea
    [weddell] Weddell Sea
    [ross] Ross Sea
   *[gulf-of-st-lawrence] Gulf of St Lawrence
}

## Scripts: table of a layer's shapes

script-map-table = Table of shapes
script-map-table-of = Table of { $name }
script-map-table-filter = Filter
script-map-table-column = Column
script-map-table-any-column = Any column
script-map-table-comparison = Comparison
script-map-table-contains = contains
script-map-table-equal = is
script-map-table-at-least = at least
script-map-table-at-most = at most
script-map-table-in-view = Only on the map
script-map-table-close = Close table

## Scripts: selected feature or folder

script-map-size = Size
script-map-updated = Updated
script-map-folder-open = Open folder
script-map-edit = Edit
script-map-delete = Delete
script-map-shape-delete = Delete shape
script-map-shape-deleted = Shape deleted.
script-map-shape-not-editable = Collections and shapes with elevations cannot be edited here. Edit the shape in a GIS and upload it again.
script-map-edit-attributes = Edit attributes
script-map-split = Split
script-map-split-hint = Draw a line across the shape, from outside to outside, then select Finish.
script-map-split-impossible = The line must cross the shape from one side to the other.
script-map-split-text = The shape is split into { $count } parts. The largest one keeps its history; the others are new shapes with the same attributes, folder and layer.
script-map-split-done = Shape split into { $count } parts.
script-map-join = Join with…
script-map-join-title = Join shapes
script-map-join-hint = Click the shape to join with.
script-map-join-keys = Keyboard: move the map with the arrow keys, then press Enter.
script-map-join-impossible = The shapes have no common edge or end.
script-map-join-text = The first shape keeps its attributes and is extended. The second shape is deleted.
script-map-join-named = “{ $kept }” keeps its attributes and is extended. “{ $deleted }” is deleted.
script-map-join-confirm = Join
script-map-join-done = Shapes joined.
# The position of the shown feature among those at the same place.
script-map-stepper-position = { $index } of { $count } at this location
script-map-stepper-next = Next
script-map-shape-count = { $count ->
    [one] { $count } shape
   *[other] { $count } shapes
}

## Scripts: drawing

script-map-draw = Draw
script-map-draw-toolbar = Drawing tools
script-map-draw-point = Point
script-map-draw-line = Line
script-map-draw-area = Area
script-map-draw-add-here = Add point here
script-map-draw-finish = Finish
script-map-draw-point-hint = Click the map to place the point.
script-map-draw-line-hint = Click each point. Double-click the last one to finish.
script-map-draw-area-hint = Click each corner. Click the first one again to finish.
script-map-draw-point-keys = Keyboard: move the map with the arrow keys, then press Space.
script-map-draw-keys = Keyboard: move the map with the arrow keys. Press Space to add a point, Backspace to remove the last one, Enter to finish, Esc to start over.
script-map-draw-edit-hint = Drag a corner to move it. Drag the point between two corners to add one. Right-click a corner, or use the table, to remove it.
script-map-snap = Snap
script-map-undo = Undo
script-map-redo = Redo
script-map-cancel = Cancel
script-map-done = Done

## Scripts: measuring

script-map-measure = Measure
script-map-measure-length = Length
script-map-measure-area = Area
script-map-measure-again = Measure again
script-map-measured-hint = Drag a corner to adjust the measurement. Nothing is saved.

## Scripts: typed vertices

script-map-typed-title = Enter values
script-map-length-in-meters = Length (m)
script-map-typed-bearing = Bearing (° or gon)
script-map-typed-coordinate = Latitude, longitude
script-map-typed-add = Add
script-map-typed-no-start = Add a first point before you enter a length.
script-map-typed-length-invalid = Length must be a number of meters, for example 12.50.
script-map-typed-bearing-invalid = Bearing must be a number of degrees clockwise from north, for example 87.5.
script-map-coordinate-invalid = Enter latitude and longitude, for example 48.85, 2.35 or 48°51'24" N 2°21'3" E.

## Scripts: table of vertices

script-map-vertex-table = Vertices
script-map-vertex-count = { $count ->
    [one] { $count } vertex
   *[other] { $count } vertices
}
script-map-vertex-limit = Only the first { $count } vertices are listed.
script-map-vertex-number = No.
script-map-latitude = Latitude
script-map-longitude = Longitude
script-map-vertex-part = Part { $part }
script-map-vertex-hole = Part { $part }, hole { $hole }
script-map-vertex-latitude = Latitude of vertex { $number }
script-map-vertex-longitude = Longitude of vertex { $number }
script-map-vertex-remove = Remove vertex { $number }

## Scripts: saving a shape

script-map-shape-new = New shape
script-map-shape-edit = Save changes
script-map-shape-saved = Shape saved.
script-map-folder = Folder
script-map-folders = Folders
script-map-folder-placeholder = Reference or name
script-map-folder-no-match = No matching folders
script-map-folder-not-selected = Select a folder from the list, or leave the field empty.
script-map-name = Name
script-map-optional = (optional)
script-map-save = Save
script-map-save-anyway = Save anyway
script-map-discard = Discard
script-map-crossings = { $count ->
    [one] The shape crosses itself at the marked place. Its area is not well defined.
   *[other] The shape crosses itself at { $count } marked places. Its area is not well defined.
}
script-map-repair = Repair
script-map-repair-empty = The shape has no area, so it cannot be repaired. Draw it again.
script-map-attributes = Attributes
script-map-attributes-saved = Attributes saved.
script-map-attribute-add = Add attribute
script-map-attribute-name = Attribute name
script-map-attribute-value-placeholder = Value
script-map-attribute-type = Attribute type
script-map-attribute-value = Attribute value
script-map-attribute-text = Text
script-map-attribute-number = Number
script-map-attribute-boolean = Yes or no
script-map-attribute-yes = Yes
script-map-attribute-no = No
script-map-attribute-remove = Remove attribute { $name }
script-map-attribute-no-name = Enter a name for the attribute.
script-map-attribute-duplicate = There is already an attribute “{ $name }”.
script-map-attribute-no-number = “{ $name }” must be a number, for example 12.50.
script-map-attribute-required = { $name } is required.
script-map-attribute-whole-number = { $name } must be a whole number.
script-map-attribute-choose = Choose
script-map-attribute-others = Other attributes

## Scripts: going to a place

script-map-go-to = Go to
script-map-go-to-placeholder = Coordinate, folder, shape
script-map-go-to-places = Places
script-map-go-to-no-match = Nothing found
script-map-go-to-no-shapes = Folder { $reference } has no shapes on the map.

## Scripts: sizes and coordinates

script-map-unit-m = { $value } m
script-map-unit-km = { $value } km
script-map-unit-m2 = { $value } m²
script-map-unit-ha = { $value } ha
script-map-unit-km2 = { $value } km²
script-map-latitude-north = { $value } N
script-map-latitude-south = { $value } S
script-map-longitude-east = { $value } E
script-map-longitude-west = { $value } W
script-map-area-and-perimeter = { $area }, perimeter { $perimeter }

# Pages of the OGC API.
ogc-collections = Collections
ogc-conformance = Conformance
ogc-items = Features
ogc-count = { $count ->
    [one] { $count } feature
   *[other] { $count } features
}
ogc-map = Map of the features
ogc-name = Name
ogc-value = Value
ogc-title = Title
ogc-id = ID
ogc-description = Description
ogc-empty = There is nothing here yet.
ogc-next = Next page
ogc-large-geometry = Large shapes are not drawn. To read them, open the JSON.
ogc-too-large = This is too large for a page. Open the JSON instead.
ogc-links = Links

## Imports of files

import = Import
imports-title = Imports
imports-recent = Recent imports
imports-empty = No imports in the last seven days. You can also drop files on lists, on the map and on its layers.
imports-retention = Finished imports are listed for seven days.
import-title = Import of { $file }
import-into = Import into
import-into-new-layer = A new layer
import-into-layer = Layer { $name }
import-file = Files
import-file-hint = GeoJSON, GeoPackage, Shapefile (a zip archive, or all its files), FlatGeobuf, CSV, KML, GPX and DXF for layers; CSV, Excel (XLSX), JSON and NDJSON for records. Nothing changes before you have seen a preview.
import-upload = Upload and check
import-column-file = File
import-column-state = State
import-column-who = Imported by
import-column-created = Received
import-state-checking = Checking
import-state-ready = Ready to import
import-state-incomplete = Not ready
import-state-running = Importing
import-state-done = Imported
import-state-failed = Failed
import-state-cancelled = Cancelled
import-state-interrupted = Interrupted
import-step-checking = Checking the file:
import-step-comparing = Comparing with the layer:
import-step-reading = Reading the file:
import-step-writing = Importing:
import-step-publishing = Saving everything…
import-features = { $count ->
    [one] { $count } feature
   *[other] { $count } features
}
import-rows = { $count ->
    [one] { $count } row
   *[other] { $count } rows
}
import-goes-on = You can close this page: the import goes on.
import-cancel = Cancel import
import-created = Created: { $count }
import-updated = Updated: { $count }
import-unchanged = Unchanged: { $count }
import-deleted = Deleted: { $count }
import-left-out = Left out, because they were rejected: { $count }
import-nothing = Nothing was imported.
import-interrupted-text = The server that had the file was stopped. Nothing was imported. Upload the file again.
import-expired = The import was not started within two hours, so the file was deleted.
import-failed = The server failed. Try again.
import-data-changed = The file or the data has changed since the check. Upload the file again.
import-repeated-field = Several fields get the name “{ $name }”. Give each another name, or leave it out.
import-needs-target = Choose where to import the file.
import-row-changed = Line { $line } is no longer valid: { $reason } Upload the file again.
import-options-changed = The options have changed. See the new preview, then start the import.
import-too-many-rows = The file has more than { $max } rows. Split it, or use the command groma import.
import-show-list = Show { $kind }
import-show-map = Show on the map
import-another = Import another file
import-preview = Changes
import-count-created = to create
import-count-updated = to update
import-count-unchanged = unchanged
import-count-deleted = to delete
import-count-rejected = rejected
import-deletes = This import deletes the features of the layer that are not in the file.
import-empty = The file contains nothing to import.
import-choose-layer = The file has several layers. Choose one of them.
import-choose-geometry = No column is recognized as the geometry. Choose the columns of the coordinates, or the one with WKT.
import-choose-crs = The file does not name its reference system. Choose it, so that the shapes are put in the right place.
import-unknown-crs = The reference system of the file cannot be used: { $reason }. Choose another one.
import-choose-columns = These columns are not fields of the records: { $columns }. Choose the field of each, or leave it out.
import-rejected-title = Rejected
import-rejected-download = Download rejected rows
import-rejected-file = rejected
import-rejected-feature = feature
import-rejected-line = line
import-rejected-reason = reason
import-more-rejected = { $count ->
    [one] One more is in the download.
   *[other] { $count } more are in the download.
}
import-notices = Warnings
import-quality = Quality
import-quality-unknown = Files with more than 100,000 features are not checked for overlaps, gaps, duplicates and spikes. Check the layer in the settings after the import.
import-quality-hint = These problems do not prevent the import. Check the layer in the settings to repair some of them.
import-place-features = { $count ->
    [one] Feature { $numbers }
   *[other] Features { $numbers }
}
import-show-place = Show on the map
import-place-feature = Feature { $number }
import-place-feature-line = Feature { $number }, line { $line }
import-place-line = Line { $number }
import-options = Options
import-layer-name = Name of the layer
import-source-layer = Layer of the file
import-sheet = Sheet
import-x-column = Column with x or longitude
import-y-column = Column with y or latitude
import-wkt-column = Column with WKT
import-wkt-column-hint = Or WKB. If you choose a column here, x and y are not used.
import-column-none = None
import-choose = Choose…
import-mode = Features of the layer
import-mode-add-and-update = Add new ones and update those in the file
import-mode-replace = Replace all: delete those that are not in the file
import-mode-add-only = Only add new ones
import-id-own = Feature ID
import-id-of-file = The file’s own IDs
import-id-field = Recognize features by
import-new-id-field = Take the feature IDs from
import-crs = Reference system of the file
import-crs-used = Reference system of the file: { $name }
import-crs-hint = An EPSG code. Leave empty to use the one that the file names.
import-crs-candidates = Where the shapes would be
import-folder = Folder of the features
import-keep-crs = Keep the reference system and the exact coordinates of the file
import-keep-good = Import the valid ones even if others are rejected
import-blocked = Correct the file, or choose to import the valid ones.
import-field-source = In the file
import-field-samples = Examples
import-field-becomes = Becomes
import-field-left-out = Leave out
import-field-named = What { $field } becomes
import-extent = From { $west }, { $south } to { $east }, { $north }
import-check = Check again
import-start = Import
error-import-ended = This import has ended or has changed. Load its page again.
error-too-many-imports = You already have five open imports. Start or cancel one of them first.
error-import-new-layer = Only administrators can create layers. Choose a layer.
error-import-no-file = Choose a file.
error-import-files = Send one file, or all files of one Shapefile.
error-too-many-uploads = Too many files are being received. Wait until one has arrived, then try again.
script-import-drop = Drop the file to import it
script-import-drop-into = Drop the file to import it into { $name }
script-import-sending = Sending { $name }
script-import-stop = Stop
script-import-close = Close
script-import-failed = The file could not be sent. Try again.
script-map-import = Import
script-map-import-file = Import a file

## Reasons of rejected files and geometries. In English, each is the template of a message in the code.

reason-untranslated = { $text }
reason-with-hint = { $problem }; { $hint }
reason-and = { $one } and { $other }
reason-or = { $one } or { $other }

## Reference systems

reason-crs-name = `{ $name }` is not a reference system; use an EPSG code, for example EPSG:2154
reason-crs-unsupported = EPSG:{ $code } is not supported: { $reason }
reason-crs-deprecated = the code is deprecated
reason-crs-deprecated-for = the code is deprecated; use EPSG:{ $code }
reason-crs-3d = it is three-dimensional
reason-crs-3d-of = it is three-dimensional; use EPSG:{ $code }
reason-crs-compound = it includes heights; use its horizontal part, EPSG:{ $code }
reason-crs-vertical = it describes only heights
reason-crs-geocentric = its coordinates are geocentric
reason-crs-derived = it is derived from another system by a method of its own
reason-crs-no-operation = no transformation to WGS 84 is published
reason-crs-other-grid = its transformations to WGS 84 need grid files in a format other than NTv2
reason-crs-grid = it needs the grid file { $files } in the folder geo.grids
reason-crs-projection = its projection ({ $projection }) is not implemented
reason-crs-method = its transformation to WGS 84 ({ $method }) is not implemented
reason-crs-inaccurate = the result would differ from PROJ by more than 1 cm
reason-crs-unknown = the code is not in the EPSG register
reason-crs-outside = is outside the area in which { $crs } can be used
reason-crs-position-outside = has a position outside the area in which { $crs } can be used
reason-crs-outside-area-of-use = lies outside the area of use of { $crs }
reason-crs-swapped-north-first = its axes seem to be swapped: north comes first
reason-crs-swapped-east-first = its axes seem to be swapped: x (east) comes first
reason-crs-longitude = a longitude must be between -{ $limit } and { $limit } degrees
reason-crs-latitude = a latitude must be between -90 and 90 degrees
reason-crs-member-hint = if the coordinates are not in WGS 84, name their reference system in `crs`
reason-crs-not-of-request = must name { $crs }, the system of the request
reason-crs-not-outermost = must be a member of the outermost object
reason-crs-too-late = names { $crs } after `features` were read as { $other }; put `crs` before `features`
reason-crs-type = must be `name`; no other type of `crs` is supported

## What looks wrong in a geometry

reason-no-length = has no length
reason-no-area = has no area
reason-self-intersection = crosses or touches itself here
reason-hole-outside = is a hole outside its polygon
reason-spike = has a spike
reason-repeated-position = repeats the previous position
reason-repeated-positions = repeats the previous position ({ $count } repeated positions in this line)
reason-measures-dropped = M values were dropped
reason-binary-dropped = binary values were dropped

## Geometries

reason-line-too-short = a line needs at least two positions
reason-ring-too-short = a ring needs at least four positions
reason-ring-not-closed = a ring must be closed: its last position must equal its first
reason-no-outer-ring = a polygon needs an outer ring
reason-position-too-short = a position needs at least two numbers
reason-coordinate-too-large = is too large for a coordinate
reason-coordinate-invalid = has a coordinate that is not finite or too large
reason-too-many-positions = exceeds the limit of { $limit } positions per feature
reason-too-many-rings = exceeds the limit of { $limit } rings per feature
reason-too-many-geometries = exceeds the limit of { $limit } geometries per feature
reason-collections-too-deep = GeometryCollections can be nested at most { $limit } levels deep
reason-geometry-type = must be a { $name } or Multi{ $name }, the geometry type of the layer; it is a { $kind }
reason-joined-same = must be another geometry of the layer

## Features

reason-unreadable = cannot be read
reason-repeated-id = `{ $id }` is already the id of an earlier feature
reason-repeated-field = `{ $id }` is already the { $field } of an earlier feature
reason-no-id-value = has no value for the field `{ $field }`, which identifies it
reason-named-twice = names the feature { $id } for a second time
reason-too-many-keys = has more than { $limit } keys
reason-properties-too-large = `properties` exceed the limit of { $limit } MiB per feature
reason-not-in-workspace = does not exist in this workspace
reason-folder-moved = was moved to another folder during the import
reason-layer-expired = was deleted, because the import had paused for more than ten minutes

## GeoJSON

reason-empty = must not be empty
reason-empty-geometry = must not be empty; for a missing geometry, set `geometry` to null
reason-not-number = must be a number
reason-not-array = must be an array
reason-not-string = must be a string
reason-not-string-or-number = must be a string or a number
reason-not-object = must be an object
reason-not-object-or-null = must be an object or null
reason-not-geojson = must be a GeoJSON object
reason-not-feature = must be a Feature
reason-not-type-feature = must be Feature
reason-bare-geometry = must be Feature; wrap a bare geometry in a Feature
reason-nested-collection = a FeatureCollection cannot contain another FeatureCollection
reason-not-geometry-type = must be a geometry type
reason-not-geometry = must be a geometry object
reason-not-geometry-or-null = must be a geometry object or null
reason-unknown-type = `{ $name }` is not a GeoJSON type
reason-member-not-allowed = `{ $name }` is not allowed in this object
reason-member-of-other-type = an object of this type cannot have the member `{ $name }`
reason-member-missing = `{ $name }` is missing
reason-member-missing-nullable = `{ $name }` is missing; it can be null
reason-member-repeated = must not appear twice in the same object
reason-too-many-members = exceeds the limit of { $limit } members per object
reason-bbox = must have four or six numbers
reason-too-long = must have at most { $max } characters
reason-control-characters = must not contain control characters

## JSON

reason-json-arrays-too-deep = arrays are nested too deeply
reason-json-trailing = unexpected content after the end of the JSON text
reason-json-second = a second JSON text follows the first; put several features into a FeatureCollection
reason-json-not-finite = NaN and Infinity are not valid JSON
reason-json-value = a value
reason-json-key = a key in double quotes
reason-json-expected = expected { $expected }, found `{ $found }`
reason-json-expected-byte = expected { $expected }, found the byte { $found }
reason-json-too-deep = is nested more than { $limit } levels deep
reason-json-not-value = is not a valid JSON value
reason-json-not-number = is not a valid JSON number
reason-json-number-out-of-range = is a number outside the supported range
reason-json-number-too-long = a number must have at most { $max } characters
reason-json-truncated = the text ends unexpectedly
reason-json-not-utf-8 = is not valid UTF-8
reason-json-repeated-key = contains the key `{ $key }` twice in one object
reason-json-object-too-large = contains an object with more than { $limit } members
reason-json-string-too-long = is too long
reason-json-null-character = contains the character \u0000, which cannot be stored
reason-json-surrogate = contains an unpaired surrogate
reason-json-control-character = contains a control character that is not escaped
reason-json-escape = contains an invalid escape sequence
reason-json-unicode-escape = contains a \u escape without four hexadecimal digits

## Files

reason-format-unknown = unknown format; { $hint }
reason-format-hint = supported are { $names }; convert the file with `ogr2ogr -f GPKG out.gpkg { $file }`
reason-format-option = unknown format; set --format to one of { $names }
reason-file-empty = the file is empty
reason-file-utf-16 = the file is UTF-16; save it as CSV UTF-8
reason-file-truncated = the file is truncated
reason-file-truncated-at = the file is truncated: it has { $count } of { $expected } features
reason-file-no-crs = the file does not name its reference system
reason-file-crs-hint = name the reference system with --crs, for example --crs EPSG:2154
reason-file-crs-invalid = the file's reference system is not valid WKT
reason-file-crs-unknown = the file's reference system `{ $name }` is not known
reason-file-one-layer = a GeoJSON file has only one layer
reason-file-no-layer = the file contains no layer
reason-file-several-layers = the file contains several layers; choose one with --source-layer: { $names }
reason-file-unknown-layer = layer `{ $name }` is not in the file; it has { $names }
reason-file-unknown-field = there is no field `{ $field }`; the fields are { $names }
reason-file-too-many-layers = the file has more than { $limit } layers
reason-file-too-many-columns = the file has more than { $limit } columns
reason-file-part-too-large = a part of { $size } bytes exceeds the limit of { $limit }
reason-layer-too-many-columns = layer `{ $name }` has more than { $limit } columns
reason-geometries-too-deep = geometries are nested too deeply
reason-nested-collections-too-deep = collections are nested too deeply
reason-geometry-unsupported = geometries of the type { $name } are not supported; convert the file with `ogr2ogr -nlt CONVERT_TO_LINEAR`
reason-geometry-curves = the geometry has curves; convert the file with `ogr2ogr -nlt CONVERT_TO_LINEAR`
reason-not-utf-8 = `{ $name }` is not UTF-8
reason-value-not-number = `{ $name }` is not a number

## Archives

reason-archive-invalid = the archive cannot be read: { $error }
reason-archive-error = the archive: { $error }
reason-archive-too-many-files = the archive has more than { $limit } files
reason-archive-path = the archive contains a path that leads outside of it
reason-archive-too-large = the archive unpacks to more than { $limit } times its size
reason-archive-nested = the archive contains another archive; unpack it first
reason-archive-no-shapefile = the archive contains no Shapefile (.shp)
reason-archive-no-kml = the archive contains no KML document
reason-archive-too-many-kml = the archive contains more than { $limit } KML documents
reason-folder-no-shapefile = the folder contains no Shapefile (.shp)

## WKB and WKT

reason-wkb-truncated = the geometry is truncated
reason-wkb-trailing = the geometry is followed by unexpected bytes
reason-wkb-type = the geometry contains the unexpected type { $code }
reason-wkb-srid = the geometry has the SRID { $code } instead of 4326
reason-wkb-not-finite = the geometry has a coordinate that is not finite
reason-wkb-too-deep = the geometry has collections nested too deeply
reason-wkb-invalid = the geometry is not valid WKB
reason-wkb-invalid-because = the geometry is not valid WKB: { $error }
reason-wkt-invalid = the geometry is not valid WKT

## XML, GPX and KML

reason-xml-invalid = invalid XML: { $error }
reason-xml-invalid-at = invalid XML at byte { $position }: { $error }
reason-xml-too-deep = elements are nested more than { $limit } levels deep
reason-xml-entity = the entity `{ $name }` is unknown
reason-xml-doctype = document type definitions and entities are not accepted
reason-xml-too-many-nodes = an element has more than { $limit } elements and attributes
reason-xml-element-too-large = an element has more than { $limit } MiB
reason-gpx-invalid = the file is not GPX
reason-gpx-missing = a point lacks `{ $name }`
reason-gpx-not-number = `{ $name }` of a point is not a number
reason-kml-invalid = the file is not KML
reason-kml-coordinates = the coordinates are not valid

## Shapefile

reason-shp-invalid = the .shp is not valid
reason-shp-truncated = the .shp is truncated at shape { $number }
reason-shp-fewer-shapes = the .shp is truncated: the .dbf has { $count } rows more
reason-shp-shape-too-large = shape { $number } exceeds the limit of { $limit } bytes
reason-shp-shape-invalid = the shape is not valid
reason-shp-shape-type = shapes of the type { $code } are not supported
reason-shp-rings-overlap = too many rings overlap; repair the polygon, or split it into several features
reason-dbf-invalid = the .dbf is not valid
reason-dbf-truncated = the .dbf announces { $count } rows, but contains { $available }
reason-dbf-too-many-fields = the .dbf has more than { $limit } fields
reason-dbf-fewer-rows = the .dbf has fewer rows than the .shp has shapes
reason-dbf-encoding = `{ $name }` is not in the encoding of the .dbf; correct the .cpg file

## Tables

reason-columns-no-geometry = no column has a geometry; name the columns lon and lat, x and y, or wkt, or choose them with --x-column and --y-column, or --wkt-column
reason-columns-too-large = the names of the columns have more than { $limit } MiB
reason-columns-same = x and y must be in different columns
reason-columns-only-csv = only a CSV file has columns with coordinates or WKT
reason-column-unknown = there is no column `{ $name }`
reason-column-repeated = column `{ $name }` appears twice
reason-row-width = has { $count } cells, but the header has { $expected }
reason-row-mixed-encoding = is not UTF-8, as other rows are: the file mixes encodings
reason-row-one-coordinate = has only one coordinate
reason-row-not-coordinate = `{ $cell }` is not a coordinate
reason-row-too-wide = a row has more than { $limit } cells
reason-row-too-large = a row has more than { $limit } MiB
reason-row-not-object = is not an object
reason-row-too-many-fields = has more than { $limit } fields
reason-row-of-line = line { $line }: { $reason }
reason-row-header = the header { $reason }
reason-row-not-json = is not a JSON object: { $reason } at column { $column }
reason-row-repeated = `{ $key }` is already on line { $line }
reason-row-default-repeated = line { $line } already sets isDefault for the kind { $kind }

## Excel

reason-sheet-none = the workbook has no sheet
reason-sheet-unknown = sheet `{ $sheet }` is not in the workbook; it has { $names }
reason-sheet-row-too-large = row { $number } has more than { $limit } MiB
reason-sheet-row-too-wide = row { $number } has more than { $limit } cells
reason-sheet-cell-error = a cell contains the error { $error }
reason-sheet-no-result = cell { $cell } has a formula without a result; open the file in a spreadsheet program and save it
reason-workbook-invalid = the workbook cannot be read: { $problem }
reason-workbook-part = `{ $name }` { $problem }
reason-workbook-io = I/O error: { $error }
reason-workbook-doctype = has a document type definition
reason-workbook-part-too-large = has too many bytes
reason-workbook-cell-too-large = has a cell of too many bytes
reason-workbook-too-many-texts = announces too many texts
reason-workbook-sheet-not-xml = names a sheet that is not XML
reason-workbook-text-too-large = a text or a tag has too many bytes

## FlatGeobuf

reason-fgb-invalid = the file is not a valid FlatGeobuf file
reason-fgb-feature = the feature is not valid FlatGeobuf
reason-fgb-properties = the properties are not valid FlatGeobuf
reason-fgb-geometry = the geometry is not valid FlatGeobuf

## GeoPackage

reason-gpkg-unusable = the GeoPackage cannot be used: { $error }
reason-gpkg-invalid = the file is not a GeoPackage
reason-gpkg-no-contents = the file is not a GeoPackage: it has no table gpkg_contents
reason-gpkg-not-table = `{ $name }` must be a table
reason-gpkg-data-columns = the table gpkg_data_columns has too many rows
reason-gpkg-geometry-columns = layer `{ $name }` has several geometry columns; a GeoPackage can have one in each layer
reason-gpkg-damaged = the GeoPackage is damaged: it has more rows than it can contain
reason-gpkg-view = `{ $name }` is not a table; views are not read: save `{ $name }` as a layer of its own
reason-gpkg-geometry = the geometry is not a GeoPackage geometry
reason-gpkg-extended-geometry = the geometry is in an extended format

## DXF

reason-dxf-invalid = the file is not DXF
reason-dxf-binary = binary DXF is not supported; save the drawing as DXF in text form (ASCII)
reason-dxf-line = line { $line } is not valid DXF
reason-dxf-line-too-long = line { $line } is too long
reason-dxf-no-coordinates = the { $kind } lacks coordinates
reason-dxf-entity-too-large = an entity is too large
reason-dxf-left-out = entities that cannot be read as features were left out: { $kinds }
reason-dxf-tilted = entities that are not drawn in a horizontal plane were left out: { $kinds }
reason-dxf-nothing = the drawing has no entity that can be read as a feature, only { $kinds }

## Imports

reason-layer-gone = The layer was deleted. Choose another one.
reason-layer-name-taken = Layer “{ $layer }” already has the short name “{ $slug }”, which is derived from the name. Choose another name, or import into that layer.
reason-layer-locked = layer `{ $layer }` is locked; unlock it to change its features
reason-folder-not-found = folder `{ $key }` not found
reason-assignment-not-found = assignment `{ $key }` not found
reason-not-records = A { $extension } file cannot contain records. Use CSV, XLSX, JSON or NDJSON.

## Second factors

reason-secret-malformed = The secret is malformed
