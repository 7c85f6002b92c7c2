### The French texts of the web application. See `en.ftl` for how they are used.

## Numbers, dates and times

number-group-separator = {"\u202F"}
number-decimal-separator = ,
percent = { $number } %
number-short = { $unit ->
    [billion] { $number } Md
    [million] { $number } M
    [thousand] { $number } k
   *[one] { $number }
}
degrees = { $direction ->
    [north] { $degrees } N
    [south] { $degrees } S
    [east] { $degrees } E
   *[west] { $degrees } O
}
language-name = Français
yes = oui
no = non
empty-value = vide
count-more-than = plus de { $count }

month-short = { $month ->
    [1] janv.
    [2] févr.
    [3] mars
    [4] avr.
    [5] mai
    [6] juin
    [7] juil.
    [8] août
    [9] sept.
    [10] oct.
    [11] nov.
   *[12] déc.
}
date-day = { $day ->
    [1] 1er
   *[other] { $day }
} { month-short }
date-full = { $day ->
    [1] 1er
   *[other] { $day }
} { month-short } { $year }
date-month = { month-short }
date-month-year = { month-short } { $year }
date-exact = { date-full }, { $time } { $zone }

time-just-now = à l’instant
time-soon = dans quelques secondes
time-yesterday = hier
time-tomorrow = demain
time-unit = { $unit ->
    [minute] { $count } min
    [hour] { $count } h
   *[day] { $count ->
        [one] { $count } jour
       *[other] { $count } jours
    }
}
time-relative = { $tense ->
    [future] dans { time-unit }
   *[past] il y a { time-unit }
}
hours = { $hours } h

## Kinds of records

kind-title = { $kind ->
    [folder] Dossiers
    [assignment] Tâches
    [expense] Dépenses
   *[budget] Budgets
}
kind-plural = { $kind ->
    [folder] dossiers
    [assignment] tâches
    [expense] dépenses
   *[budget] budgets
}
record-count = { $kind ->
    [folder] { $count ->
        [one] { $count } dossier
       *[other] { $count } dossiers
    }
    [assignment] { $count ->
        [one] { $count } tâche
       *[other] { $count } tâches
    }
    [expense] { $count ->
        [one] { $count } dépense
       *[other] { $count } dépenses
    }
   *[budget] { $count ->
        [one] { $count } budget
       *[other] { $count } budgets
    }
}
record-count-more-than = plus de { $count } { kind-plural }
shape-count = { $count ->
    [one] { $count } objet
   *[other] { $count } objets
}
record-new = { $kind ->
    [folder] Nouveau dossier
    [assignment] Nouvelle tâche
    [expense] Nouvelle dépense
   *[budget] Nouveau budget
}

## Layout

skip-to-content = Aller au contenu
nav-main = Principale
nav-dashboard = Tableau de bord
nav-folders = Dossiers
nav-assignments = Tâches
nav-expenses = Dépenses
nav-budgets = Budgets
nav-map = Carte
nav-settings = Paramètres
workspaces-title = Espaces de travail
search-everything = Rechercher partout
search-placeholder = Rechercher dossiers, personnes, références
account-menu = Menu du compte : { $name }
menu-account = Compte
menu-documentation = Documentation de l’API
menu-shortcuts = Raccourcis clavier
menu-log-out = Se déconnecter
undo = Revenir en arrière
cancel = Annuler
copy = Copier
copy-command = Copier la commande
edit = Modifier
delete = Supprimer
actions = Actions
clear-filters = Effacer les filtres
newest = ‹ Les plus récents
older = Plus anciens ›

## Error pages

error-title-not-found = Page introuvable
error-title-forbidden = Accès refusé
error-title-conflict = Modifications en conflit
error-title-too-many = Trop de tentatives
error-title-internal = Une erreur s’est produite
error-title-bad-request = Requête non valide
error-not-found = Cette page n’existe pas. Elle a peut-être été supprimée, ou elle appartient à un autre espace de travail.
error-missing-role = Vous avez besoin du rôle { role-name } pour faire cela. Demandez à un administrateur de l’espace de travail.
error-conflict = Quelqu’un d’autre l’a modifié entre-temps. Ouvrez la page à nouveau et recommencez votre modification.
error-search-timeout = Cette recherche a pris trop de temps. Saisissez plus de caractères ou ajoutez un filtre.
error-too-many-searches = Trop de recherches sont en cours. Attendez un instant et réessayez.
error-too-many-pages = Vous avez ouvert trop de pages dans la dernière minute. Attendez un instant et réessayez.
error-too-many-exports = Trop d’exports sont en cours. Attendez que l’un d’eux soit téléchargé, puis réessayez.
error-too-many-checks = Trop de vérifications sont en cours. Attendez que l’une d’elles soit terminée, puis réessayez.
error-export-columns = Les objets ont plus de 1 900 propriétés différentes, trop pour des colonnes. Exportez la couche en GeoJSON.
error-export-crs = Choisissez l’un des systèmes de référence du menu.
error-export-format = Choisissez l’un des formats du menu.
error-export-outside-area = Certains objets sont hors de la zone où ce système de référence est utilisable. Choisissez un autre système de référence.
error-export-shapefile-row = Les propriétés sont trop longues pour un Shapefile. Exportez la couche en GeoPackage.
error-export-shapefile-size = La couche est trop volumineuse pour un Shapefile. Exportez-la en GeoPackage.
error-export-sheet-rows = Une feuille Excel a au plus 1 048 576 lignes. Exportez les données en CSV.
error-export-sheet-text = Un texte a plus de 32 767 caractères, la limite d’Excel. Exportez les données en CSV.
error-http-not-allowed = L’exploitant n’autorise pas les adresses en http. Passez d’abord l’adresse en https.
error-layer-locked = Cette couche est verrouillée. Déverrouillez-la dans les paramètres pour modifier ses objets.
error-reason = La requête n’est pas valide : { $reason }.
error-session-ended = Votre session est terminée. Reconnectez-vous ; rien n’a été modifié.
error-login-required = Connectez-vous pour continuer.
error-cross-site = Cette requête vient d’un autre site : rien n’a été modifié. Ouvrez la page sur ce site et réessayez.
error-form-expired = Cette page a expiré ou appartient à un autre espace de travail : rien n’a été modifié. Revenez à la page précédente, rechargez-la et réessayez.
error-form-incomplete = Ce formulaire est incomplet : rien n’a été modifié. Rechargez la page et réessayez.
error-not-a-form = La requête n’est pas un formulaire. Envoyez le formulaire depuis la page.
error-too-large = La requête est trop volumineuse. Réduisez-la et réessayez.
error-too-slow = La requête a mis trop de temps à arriver. Réessayez.
error-busy = Le serveur est très sollicité. Réessayez dans un instant.
error-internal-read = Le serveur n’a pas pu afficher cette page. Réessayez dans un instant.
error-internal-change = Le serveur n’a pas pu terminer la requête. Votre modification est peut-être enregistrée, peut-être pas. Vérifiez avant de réessayer.
error-request-id = Si vous signalez ce problème, indiquez l’identifiant de la requête <code>{ $id }</code>.
error-home = Aller au tableau de bord

## Login

login-title = Connexion
login-submit = Se connecter
login-failed = L’adresse e-mail ou le mot de passe est incorrect.
login-disabled = Ce compte est désactivé. Demandez à un propriétaire de votre espace de travail de le réactiver.
login-forgot-password = Mot de passe oublié ?
too-many-attempts = Trop de tentatives. Réessayez dans { $unit ->
    [second] { $count ->
        [one] { $count } seconde
       *[other] { $count } secondes
    }
   *[minute] { $count ->
        [one] { $count } minute
       *[other] { $count } minutes
    }
}.

## Seconds facteurs et comptes liés

second-factor-title = Connexion en deux étapes
second-factor-code = Code
second-factor-code-hint = Les six chiffres affichés par votre application d’authentification, ou un code de secours
second-factor-recovery-code = Code de secours
second-factor-recovery-hint = L’un des codes que vous avez enregistrés en activant la connexion en deux étapes
second-factor-wrong = Le code est incorrect ou a déjà été utilisé.
second-factor-lost = Vous n’avez plus accès à votre application ni à votre clé d’accès ? Saisissez l’un de vos codes de secours.
second-factor-other-account = Se connecter avec un autre compte
confirm-title = Confirmez votre identité
confirm-text = Cette page modifie l’accès à votre compte ou à votre espace de travail. Prouvez que vous êtes toujours { $email }.
confirm-submit = Confirmer
confirm-failed = Le mot de passe ou le code est incorrect.
passkey-log-in = Se connecter avec une clé d’accès
passkey-use = Utiliser une clé d’accès
passkey-rejected = La clé d’accès n’a pas été acceptée. Réessayez ou connectez-vous autrement.
passkey-added = Clé d’accès ajoutée.
passkey-removed = Clé d’accès supprimée.
passkey-created = Ajoutée
passkey-last-used = Dernière utilisation
passkey-remove = Supprimer
passkey-remove-named = Supprimer la clé d’accès { $name }
passkey-name = Nom de la clé d’accès
passkey-name-example = Ordinateur portable
passkey-add = Ajouter une clé d’accès
passkeys-heading = Clés d’accès
passkeys-text = Une clé d’accès vous connecte avec votre empreinte, votre visage, un code PIN ou une clé de sécurité, sans mot de passe.
passkeys-need-script = Les clés d’accès nécessitent JavaScript.
passkeys-need-name = Les clés d’accès ne sont pas disponibles à cette adresse : les navigateurs ne les proposent que pour un nom d’hôte en HTTPS.
security-title = Connexion et sécurité
security-text = Connexion en deux étapes, clés d’accès et comptes liés.
security-open = Gérer la connexion et la sécurité
security-required = Cet espace de travail exige la connexion en deux étapes. Configurez une application d’authentification ou une clé d’accès pour continuer.
security-remove-password = Supprimer le mot de passe
security-remove-password-text = Vos clés d’accès suffisent pour vous connecter. Un mot de passe qui n’existe pas ne peut être ni deviné ni volé.
security-password-removed = Mot de passe supprimé. Vous vous connectez désormais avec une clé d’accès.
authenticator-heading = Application d’authentification
authenticator-text = Une application sur votre téléphone affiche un code qui change toutes les 30 secondes. Vous le saisissez après votre mot de passe.
authenticator-on = Activée
authenticator-set-up = Configurer
authenticator-replace = Changer de téléphone
authenticator-remove = Désactiver
authenticator-title = Configurer une application d’authentification
authenticator-scan = Scannez ce code avec votre application d’authentification.
authenticator-qr = Code QR pour votre application d’authentification
authenticator-type = Si vous ne pouvez pas le scanner, saisissez cette clé dans l’application :
authenticator-open = Ouvrir dans une application sur cet appareil
authenticator-code-hint = Les six chiffres que l’application affiche maintenant
authenticator-submit = Activer
authenticator-added = Application d’authentification configurée. Son code est désormais demandé à la connexion.
authenticator-removed = Application d’authentification désactivée.
recovery-codes-heading = Codes de secours
recovery-codes-new = Enregistrez vos codes de secours
recovery-codes-keep = Chaque code vous connecte une fois si vous perdez votre téléphone ou votre clé d’accès. Gardez-les en lieu sûr. Ils ne seront plus affichés.
recovery-codes-left = { $count ->
    [0] Vous avez utilisé tous vos codes de secours. Créez-en de nouveaux.
    [one] Il reste un code inutilisé.
   *[other] Il reste { $count } codes inutilisés.
}
recovery-codes-replace = Créer de nouveaux codes
recovery-codes-replaced = Nouveaux codes de secours créés. Les anciens ne fonctionnent plus.
providers-heading = Comptes liés
provider-column = Compte
provider-continue = Continuer avec { $label }
provider-not-connected = Non lié
provider-connect = Lier
provider-connect-named = Lier { $label }
provider-disconnect = Dissocier
provider-disconnect-named = Dissocier { $label }
provider-connected = { $label } est lié. Vous pouvez maintenant l’utiliser pour vous connecter.
provider-disconnected = { $label } n’est plus lié.
provider-taken = Ce compte de { $label } est déjà lié à un autre utilisateur.
provider-expired = La connexion a pris trop de temps ou a commencé dans un autre navigateur. Réessayez.
provider-ended = { $label } n’a pas terminé la connexion. Réessayez ou connectez-vous autrement.
provider-failed = { $label } est injoignable ou a refusé la connexion. Réessayez plus tard ou connectez-vous autrement.
provider-own-login = Un compte avec votre adresse e-mail existe déjà. Connectez-vous comme d’habitude, puis liez { $label } sous Compte › Connexion et sécurité.
provider-email-not-verified = { $label } n’a pas confirmé votre adresse e-mail. Adressez-vous à votre administrateur.
provider-not-invited = Votre compte { $label } n’a pas encore d’accès. Demandez une invitation à un administrateur de votre espace de travail et ouvrez son lien.
provider-invitation-invalid = L’invitation n’est plus valable ou est destinée à une autre adresse e-mail.
provider-not-confirmed = { $label } n’a pas confirmé votre identité. Déconnectez-vous, reconnectez-vous et recommencez.
login-ended = Vous êtes déconnecté ici. Vous êtes peut-être encore connecté à { $label }.
login-ended-link = Se déconnecter de { $label }
workspace-require-second-factor = Exiger la connexion en deux étapes
workspace-require-second-factor-hint = Les membres sans application d’authentification ni clé d’accès en configurent une à leur prochaine visite. Les jetons d’API ne sont pas concernés.

## First setup

setup-page-title = Configuration
setup-title = Configurer { $service }
setup-intro = Le premier espace de travail sera créé, et vous en serez propriétaire.
setup-workspace-name = Nom de l’espace de travail
setup-workspace-name-hint = Par exemple, le nom de votre cabinet
setup-submit = Créer l’espace de travail
setup-code-invalid = Le code de configuration est incorrect ou a expiré. Ouvrez le lien de configuration du dernier démarrage du serveur.
setup-missing-title = Configuration requise
setup-missing-text = { $service } n’a pas encore d’utilisateur. Au démarrage, <code>groma serve</code> a affiché un lien de configuration qui commence par <code>{ $address }</code>, ou le chemin d’un fichier qui contient ce lien. Ouvrez ce lien pour créer le premier espace de travail et son propriétaire.
setup-missing-hint = Le lien change à chaque démarrage du serveur. <code>groma setup-link</code> affiche le lien du fichier. Vous pouvez aussi exécuter <code>groma workspace create NAME --owner EMAIL</code>.

## Invitation

invitation-page-title = Invitation
invitation-title = Rejoindre { $workspace }
invitation-text = { $inviter } vous invite avec le rôle <b>{ $role }</b>. L’invitation est valable jusqu’au { $expires }.
invitation-text-without-inviter = Cette invitation vous donne le rôle <b>{ $role }</b>. Elle est valable jusqu’au { $expires }.
invitation-join = Rejoindre
invitation-join-as = Rejoindre en tant que { $user }
invitation-log-in-first = Vous avez déjà un compte ? Connectez-vous
invitation-invalid-title = Cette invitation n’est plus valable.
invitation-invalid-text = Elle a déjà été utilisée ou révoquée, ou elle a expiré. Demandez-en une nouvelle à la personne qui vous l’a envoyée.
invitation-joined = Vous avez rejoint cet espace de travail.
invitation-for-other = Cette invitation est destinée à { $email }, mais vous êtes connecté avec l’adresse { $user }. Déconnectez-vous, puis ouvrez le lien à nouveau.

## Links in mails

reset-request-title = Mot de passe oublié ?
reset-request-text = Indiquez votre adresse e-mail. Nous vous enverrons un lien pour choisir un nouveau mot de passe.
reset-request-submit = Envoyer le lien
reset-requested = S’il existe un compte pour { $email }, un message contenant un lien est en route. Le lien est valable une heure.
reset-request-again = Demander un nouveau lien
reset-title = Choisir un nouveau mot de passe
reset-text = Choisissez un nouveau mot de passe pour { $email }. Toutes les sessions de ce compte seront fermées.
reset-revoke-tokens = Révoquer tous mes jetons d’API
reset-revoke-tokens-hint = Cochez cette case si quelqu’un d’autre a pu utiliser votre compte. Les programmes qui utilisent ces jetons cesseront de fonctionner.
reset-submit = Enregistrer le mot de passe
reset-done = Mot de passe modifié. Connectez-vous avec votre nouveau mot de passe.
verify-title = Vérifier votre adresse e-mail
verify-text = Confirmez que { $email } est votre adresse e-mail.
verify-submit = Vérifier l’adresse
verify-done = Adresse e-mail vérifiée.
link-invalid-title = Ce lien n’est plus valable.
link-invalid-text = Il a déjà été utilisé, ou il a expiré.

## Mails

mail-footer = Ce message a été envoyé automatiquement par { $service } ({ $url }). Les réponses ne sont pas lues.
mail-test-subject = Message d’essai de { $service }
mail-test-body = Ce message vérifie les paramètres de messagerie. Si vous pouvez le lire, { $service } peut envoyer des e-mails.
mail-invitation-subject = Invitation à rejoindre { $workspace }
mail-invitation-body =
    Bonjour,

    { $inviter } vous invite à rejoindre l’espace de travail { $workspace } sur { $service }. Votre rôle sera : { $role }.

    Pour accepter, ouvrez ce lien. Il ne fonctionne qu’une fois et il est valable jusqu’au { $expires } :

    { $link }

    Si vous n’attendiez pas cette invitation, vous pouvez ignorer ce message.
mail-reset-subject = Choisir un nouveau mot de passe pour { $service }
mail-reset-body =
    Bonjour,

    Quelqu’un a demandé un nouveau mot de passe pour le compte { $email } sur { $service }.

    Pour choisir un nouveau mot de passe, ouvrez ce lien. Il ne fonctionne qu’une fois et il est valable une heure :

    { $link }

    Si vous n’êtes pas à l’origine de cette demande, vous pouvez ignorer ce message. Votre mot de passe ne change pas.
mail-verification-subject = Vérifier votre adresse e-mail pour { $service }
mail-verification-body =
    Bonjour,

    Pour confirmer que { $email } est l’adresse de votre compte sur { $service }, ouvrez ce lien. Il ne fonctionne qu’une fois et il est valable 24 heures :

    { $link }

    Si vous n’avez pas de compte, vous pouvez ignorer ce message.
mail-sign-in-subject = Nouvelle connexion à votre compte { $service }
mail-sign-in-body =
    Bonjour,

    Quelqu’un s’est connecté au compte { $email } sur { $service } avec un navigateur qui n’avait pas encore été utilisé :

    Heure : { $at }
    Adresse IP : { $address }
    Navigateur : { $browser }

    Si c’était vous, vous n’avez rien à faire. Sinon, changez votre mot de passe maintenant et fermez les autres sessions :

    { $account }
mail-token-subject = Nouveau jeton d’API pour votre compte { $service }
mail-token-body =
    Bonjour,

    Un nouveau jeton d’API a été créé pour le compte { $email } sur { $service } :

    Heure : { $at }
    Nom : { $name }
    Espace de travail : { $workspace }

    Si vous ne l’avez pas créé, révoquez-le dans les paramètres de l’espace de travail et changez votre mot de passe :

    { $account }
mail-factor-subject = Les paramètres de connexion de votre compte { $service } ont changé
mail-factor-body =
    Bonjour,

    Les moyens de se connecter au compte { $email } sur { $service } ont été modifiés à ce moment : { $at }. Il peut s’agir d’une application d’authentification, d’une clé d’accès, des codes de secours, du mot de passe ou d’un compte lié.

    Si ce n’était pas vous, connectez-vous, changez votre mot de passe et vérifiez les paramètres sous Connexion et sécurité :

    { $account }/security
mail-token-expires-subject = Un jeton d’API expire bientôt : { $name }
mail-token-expires-body =
    Bonjour,

    Un jeton d’API sur { $service } expire dans moins d’une semaine :

    Nom : { $name }
    Espace de travail : { $workspace }
    Expiration : { $at }

    Les programmes qui l’utilisent ne fonctionneront plus ensuite. S’ils sont encore nécessaires, créez un nouveau jeton :

    { $tokens }
mail-password-subject = Votre mot de passe { $service } a été modifié
mail-password-body =
    Bonjour,

    Le mot de passe du compte { $email } sur { $service } a été modifié à ce moment : { $at }.

    Si ce n’était pas vous, choisissez tout de suite un nouveau mot de passe avec « Mot de passe oublié ? » sur la page de connexion, et prévenez l’administrateur de votre espace de travail.

    { $account }

## Account

account-title = Compte
account-name = Nom
account-name-hint = Ce nom apparaît dans les fiches et l’activité de { $workspace }.
account-name-saved = Nom enregistré.
account-preferences = Langue et thème
account-language = Langue
account-theme = Thème
account-automatic = Automatique
account-theme-name = { $theme ->
    [light] Clair
   *[dark] Sombre
}
account-preferences-saved = Langue et thème enregistrés.
account-no-workspace = Vous n’êtes membre d’aucun espace de travail. Ouvrez une invitation pour en rejoindre un.
account-email = Adresse e-mail
account-email-verified = vérifiée
account-email-not-verified = non vérifiée
account-verify-email = Envoyer un lien de vérification
account-verification-sent = Un message contenant un lien a été envoyé à { $email }.
account-verification-too-many = Trop de messages ont été envoyés à cette adresse. Réessayez dans une heure.
account-your-email = Votre adresse e-mail
account-your-name = Votre nom
account-password = Mot de passe
account-password-hint = Au moins 10 caractères, difficile à deviner
account-current-password = Mot de passe actuel
account-new-password = Nouveau mot de passe
account-password-wrong = mot de passe incorrect
account-change-password = Changer le mot de passe
account-no-password = Vous vous connectez sans mot de passe.
account-change-password-hint = Changer de mot de passe ferme toutes les autres sessions.
account-password-changed = Mot de passe modifié. Toutes les autres sessions sont fermées.
account-sessions = Sessions
account-session-browser = Navigateur
account-session-address = Adresse IP
account-session-opened = Connexion
account-session-last-used = Dernière utilisation
account-session-current = cette session
account-end-session = Fermer
account-end-session-of = Fermer la session : { $browser }
account-end-other-sessions = Fermer toutes les autres sessions
account-end-all-sessions = Se déconnecter partout
account-all-sessions-ended = Vous êtes déconnecté partout.
account-session-ended = Session fermée.
account-other-sessions-ended = Toutes les autres sessions sont fermées.
account-browser-on = { $browser } sur { $system }
account-unknown-browser-on = Navigateur inconnu sur { $system }
account-unknown-browser = Navigateur inconnu
account-workspace = Espace de travail
account-role = Rôle
account-workspace-current = actuel
account-open-workspace = Ouvrir
account-open-workspace-named = Ouvrir { $name }
account-time-zone = Fuseau horaire
account-time-zone-hint = Les heures sont affichées dans le fuseau horaire de votre navigateur.
account-delete-title = Supprimer le compte
account-delete-text = Vous perdez l’accès immédiatement et vos jetons d’API sont révoqués. Votre nom et votre adresse sont remplacés par « Former member » dans tous les espaces de travail ; les données restent. Cette action est irréversible.
account-delete-confirm = Saisissez votre adresse e-mail pour confirmer
account-delete-wrong = n’est pas l’adresse de votre compte
account-delete = Supprimer mon compte
account-deleted = Votre compte a été supprimé.

## Dashboard

dashboard-first-steps = Pour commencer
dashboard-step-folder = <a href="/folders/new">Créez un dossier</a> pour un projet, avec un client et une échéance.
dashboard-step-budget = Ajoutez un budget et saisissez les dépenses. Le dossier indique ce qui reste.
dashboard-step-map = Dessinez une parcelle sur <a href="/map">la carte</a>, ou envoyez du GeoJSON depuis votre SIG.
dashboard-step-token = <a href="/settings/tokens">Créez un jeton d’API</a> pour les scripts et QGIS.
dashboard-step-members = <a href="/settings/members">Invitez des membres</a> et choisissez un rôle pour chacun.
dashboard-overdue-assignments = Tâches en retard
dashboard-overdue-folders = Dossiers en retard
dashboard-overspent-budgets = Budgets dépassés
dashboard-overspent = Budgets dépassés
dashboard-due-soon = Dossiers à échéance dans les 14 jours
dashboard-mine = Mes tâches
dashboard-mine-empty = Aucune tâche ouverte.
dashboard-all = Tout voir
dashboard-all-of = Tout voir : { $title }
dashboard-all-activity = Tout voir : activité
workload-title = Charge de travail
workload-person = Personne
workload-open = Tâches ouvertes
workload-overdue = En retard
workload-hours = Heures prévues
workload-unassigned = Non attribué
workload-others = { $count ->
    [one] { $count } autre personne
   *[other] { $count } autres personnes
}
workload-hint = Plusieurs personnes se partagent à parts égales les heures d’une tâche.
workload-cut = Seules les { $count } tâches dont l’échéance est la plus proche sont comptées.
hours-title = Heures par mois
hours-description = Tâches terminées dont l’échéance se situe entre { $from } et { $until } : { $estimated } heures prévues, { $spent } heures passées.
hours-estimated = Prévues
hours-spent = Passées
hours-hint = Tâches terminées, par mois d’échéance.
burn-title = Budgets les plus proches de leur limite
burn-budget = Budget
burn-used = Consommé
burn-spent-of = { $spent } sur { $amount } { $currency }
burn-elapsed = { $percent } du temps

## Activity

activity-title = Activité
activity-subtitle = Toutes les modifications, avec l’ancienne et la nouvelle valeur
activity-empty = Aucune activité pour l’instant.
activity-no-older = Aucune activité plus ancienne.
activity-operator = L’administrateur du serveur
activity-unknown-person = Quelqu’un
activity-deleted-status = statut supprimé
activity-another-record = autre
activity-moved = déplacé
activity-new-value = modifié
activity-sentence = { $action ->
    [folder-created] { $actor } a créé le dossier { $subject }
    [folder-updated] { $actor } a modifié le dossier { $subject }
    [folder-archived] { $actor } a archivé le dossier { $subject }
    [folder-unarchived] { $actor } a désarchivé le dossier { $subject }
    [folder-deleted] { $actor } a supprimé le dossier { $subject }
    [assignment-created] { $actor } a créé la tâche { $subject }
    [assignment-updated] { $actor } a modifié la tâche { $subject }
    [assignment-deleted] { $actor } a supprimé la tâche { $subject }
    [expense-created] { $actor } a créé la dépense { $subject }
    [expense-updated] { $actor } a modifié la dépense { $subject }
    [expense-deleted] { $actor } a supprimé la dépense { $subject }
    [budget-created] { $actor } a créé le budget { $subject }
    [budget-updated] { $actor } a modifié le budget { $subject }
    [budget-deleted] { $actor } a supprimé le budget { $subject }
    [status-created] { $actor } a créé le statut { $subject }
    [status-updated] { $actor } a modifié le statut { $subject }
    [status-deleted] { $actor } a supprimé le statut { $subject }
    [layer-created] { $actor } a créé la couche { $subject }
    [layer-updated] { $actor } a modifié la couche { $subject }
    [layer-deleted] { $actor } a supprimé la couche { $subject }
    [baseMap-created] { $actor } a ajouté le fond de carte { $subject }
    [baseMap-updated] { $actor } a modifié le fond de carte { $subject }
    [baseMap-deleted] { $actor } a supprimé le fond de carte { $subject }
    [geometries-created] { $actor } a ajouté { $created ->
        [one] { $created } objet
       *[other] { $created } objets
    } à la couche { $subject }
    [geometries-updated] { $actor } a modifié { $updated ->
        [one] { $updated } objet
       *[other] { $updated } objets
    } dans la couche { $subject }
    [geometries-posted] { $actor } a ajouté { $created ->
        [one] { $created } objet
       *[other] { $created } objets
    } et en a modifié { $updated } dans la couche { $subject }
    [geometries-deleted] { $actor } a supprimé un objet de la couche { $subject }
    [webhook-created] { $actor } a créé le webhook { $subject }
    [webhook-updated] { $actor } a modifié le webhook { $subject }
    [webhook-deleted] { $actor } a supprimé le webhook { $subject }
    [webhook-enabled] { $actor } a activé le webhook { $subject }
    [webhook-disabled] { $actor } a désactivé le webhook { $subject }
    [webhook-secretRotated] { $actor } a renouvelé le secret du webhook { $subject }
    [webhook-gaveUp] { $actor } a désactivé le webhook { $subject } après des échecs répétés
    [webhook-tested] { $actor } a envoyé un événement de test au webhook { $subject }
    [webhook-redelivered] { $actor } a relancé des envois au webhook { $subject }
    [member-added] { $actor } a ajouté le membre { $subject }
    [member-updated] { $actor } a modifié le rôle du membre { $subject }
    [member-renamed] { $actor } a changé de nom
    [member-removed] { $actor } a retiré le membre { $subject }
    [member-erased] { $actor } a effacé les données personnelles de { $subject }
    [invitation-created] { $actor } a invité { $subject }
    [invitation-cancelled] { $actor } a révoqué une invitation
    [token-created] { $actor } a créé le jeton d’API { $subject }
    [token-revoked] { $actor } a révoqué un jeton d’API
    [workspace-updated] { $actor } a modifié l’espace de travail { $subject }
   *[other] { $actor } a modifié { $subject }
}
activity-field = { $field } :
activity-group = { $actor } dans le dossier { $folder } : { $changes }
activity-deleted-folder = (supprimé)
activity-separator = ,{" "}
activity-changes = { $count ->
    [one] { $count } modification
   *[other] { $count } modifications
}
activity-budget-at = budget { $reference } à { $percent }
activity-part = { $action ->
    [folder-created] création du dossier
    [folder-updated] modification du dossier
    [folder-archived] archivage du dossier
    [folder-deleted] suppression du dossier
    [assignment-created] { $count ->
        [one] { $count } tâche ajoutée
       *[other] { $count } tâches ajoutées
    }
    [assignment-updated] { $count ->
        [one] { $count } tâche modifiée
       *[other] { $count } tâches modifiées
    }
    [assignment-deleted] { $count ->
        [one] { $count } tâche supprimée
       *[other] { $count } tâches supprimées
    }
    [expense-created] { $count ->
        [one] { $count } dépense ajoutée
       *[other] { $count } dépenses ajoutées
    }
    [expense-updated] { $count ->
        [one] { $count } dépense modifiée
       *[other] { $count } dépenses modifiées
    }
    [expense-deleted] { $count ->
        [one] { $count } dépense supprimée
       *[other] { $count } dépenses supprimées
    }
    [budget-created] { $count ->
        [one] { $count } budget ajouté
       *[other] { $count } budgets ajoutés
    }
    [budget-deleted] { $count ->
        [one] { $count } budget supprimé
       *[other] { $count } budgets supprimés
    }
   *[budget-updated] { $count ->
        [one] { $count } budget modifié
       *[other] { $count } budgets modifiés
    }
}

## Search

search-title = Recherche
search-field = Texte à rechercher
search-submit = Rechercher
search-help = Saisissez une partie d’un nom ou d’une description, ou une référence complète. La casse et les accents sont ignorés : <em>chene</em> trouve <em>Chêne</em>.
search-nothing-found = Aucun résultat pour <em>{ $term }</em>.
search-exact = Référence exacte
search-hits = Résultats de la recherche
search-no-hits = Aucun résultat
search-hit-person = Personne
search-hit-page = Page
search-people = Personnes
search-all = Tout voir
search-all-matching = { $kind ->
    [folder] Tout voir : dossiers trouvés
    [assignment] Tout voir : tâches trouvées
    [expense] Tout voir : dépenses trouvées
   *[budget] Tout voir : budgets trouvés
}

## Lists of records

list-tab = { $tab ->
    [active] Actifs
    [archived] Archivés
    [open] Ouvertes
    [done] Terminées
   *[cancelled] Annulées
}
list-tabs = État
list-filter = Filtrer les { kind-plural }
list-find = Rechercher dans les { kind-plural }
list-from = { $day ->
    [due] Échéance du
   *[incurred] Du
}
list-until = au
list-filter-submit = Filtrer
list-more-filters = Plus de filtres
list-remove-filter = Retirer le filtre { $filter }
list-columns = Colonnes
list-columns-apply = Afficher ces colonnes
list-unsorted = Il y a trop d’éléments pour trier par cette colonne : les plus récents viennent d’abord. Filtrez la liste pour la trier.
list-select = Sélectionner { $reference }
list-select-all = Tout sélectionner sur cette page
views = Vues
view-current = Vue : { $name }
view-shared = partagée
view-name = Enregistrer cette liste sous
view-share = Partager avec tous les membres
view-save = Enregistrer la vue
view-saved = Vue « { $name } » enregistrée.
view-delete = Supprimer la vue { $name }
view-deleted = Vue « { $name } » supprimée.
export = Exporter
export-records = Données
export-format = Format
export-layer = Couche
export-crs = Système de référence
export-crs-own = Celui de la couche
export-crs-own-named = Celui de la couche : { $crs }
export-download-records = Télécharger les données
export-download-shapes = Télécharger les objets
cell-edit = Modifier { $field } :
cell-conflict = a été modifié par quelqu’un d’autre. Annulez pour voir la nouvelle valeur.
bulk-selected = Sélection :
bulk-status = Changer le statut
bulk-person = { $kind ->
    [assignment] Attribuer à
    [expense] Changer le déclarant
   *[other] Changer le responsable
}
bulk-no-one = Personne
bulk-due = Échéance
bulk-date = Date
bulk-apply = Appliquer
bulk-archive = Archiver
bulk-delete = Supprimer…
bulk-delete-title = Supprimer { $records } ?
bulk-none-selected = Sélectionnez d’abord entre 1 et { $max } éléments.
bulk-nothing-chosen = Choisissez d’abord ce qu’il faut modifier.
bulk-changed = { $kind ->
    [folder] { $count ->
        [one] { $count } dossier modifié.
       *[other] { $count } dossiers modifiés.
    }
    [assignment] { $count ->
        [one] { $count } tâche modifiée.
       *[other] { $count } tâches modifiées.
    }
    [expense] { $count ->
        [one] { $count } dépense modifiée.
       *[other] { $count } dépenses modifiées.
    }
   *[other] { $count ->
        [one] { $count } budget modifié.
       *[other] { $count } budgets modifiés.
    }
}
bulk-deleted = { $kind ->
    [folder] { $count ->
        [one] { $count } dossier supprimé.
       *[other] { $count } dossiers supprimés.
    }
    [assignment] { $count ->
        [one] { $count } tâche supprimée.
       *[other] { $count } tâches supprimées.
    }
    [expense] { $count ->
        [one] { $count } dépense supprimée.
       *[other] { $count } dépenses supprimées.
    }
   *[other] { $count ->
        [one] { $count } budget supprimé.
       *[other] { $count } budgets supprimés.
    }
}
bulk-failed = Rien n’a été modifié. { $reference } : { $problem }
list-none-so-far = aucun résultat pour l’instant
list-range = { $first }–{ $last } sur { $total }
list-range-cut = { $first }–{ $last } sur { $total } · filtrez la liste pour en voir plus
list-totals-on-page = sur cette page
list-previous = ‹ Précédent
list-next = Suivant ›
kind-singular = { $kind ->
    [folder] dossier
    [assignment] tâche
    [expense] dépense
   *[budget] budget
}
list-empty-too-many-matches = { $kind ->
    [assignment] Trop de tâches correspondent pour les filtrer toutes, et aucune des plus récentes ne convient
    [expense] Trop de dépenses correspondent pour les filtrer toutes, et aucune des plus récentes ne convient
    [folder] Trop de dossiers correspondent pour les filtrer tous, et aucun des plus récents ne convient
   *[budget] Trop de budgets correspondent pour les filtrer tous, et aucun des plus récents ne convient
} : { $filters }. Saisissez un terme plus long.
list-empty-filters = { $kind ->
    [assignment] Aucune tâche ne correspond
    [expense] Aucune dépense ne correspond
    [folder] Aucun dossier ne correspond
   *[budget] Aucun budget ne correspond
} : { $filters }.
list-empty-page = La liste est plus courte : il n’y a pas de page { $page }.
list-first-page = Aller à la première page
list-active-filter = { $label } : { $value }
list-active-term = « { $term } »
list-empty = { $tab ->
    [archived] Aucun dossier archivé.
    [done] Aucune tâche terminée.
    [cancelled] Aucune tâche annulée.
    [active] Aucun dossier pour l’instant. Un dossier correspond à un projet. Il regroupe des tâches, des budgets, des dépenses et des objets sur la carte.
    [open] Aucune tâche ouverte. Une tâche est un travail à faire dans un dossier.
   *[none] { $kind ->
        [expense] Aucune dépense pour l’instant. Une dépense doit avoir un dossier, une date et un montant.
       *[budget] Aucun budget pour l’instant. Un budget fixe une limite de dépenses pour un dossier. Les dépenses y sont imputées.
    }
}
column-reference = Référence
column-folder = Dossier
column-assignment = Tâche
column-expense = Dépense
column-budget = Budget
column-status = Statut
column-owner = Responsable
column-assigned-to = Assignée à
column-submitted-by = Déclarée par
column-priority = Priorité
column-due = Échéance
column-client = Client
column-start = Début
column-category = Catégorie
column-vendor = Fournisseur
column-billable = Facturable
column-estimated-hours = Heures prévues
column-spent-hours = Heures passées
column-tags = Étiquettes
column-external-id = Identifiant externe
column-updated = Modifié
column-date = Date
column-budget-used = Budget consommé
column-used = Consommé
column-spent = Dépensé
column-amount = Montant
filter-me = Moi
filter-overdue = En retard
filter-due-days = Dans les { $days } jours
filter-no-date = Sans date
filter-over-budget = Budget dépassé
filter-over-budget-open = Dépassé, non clos
filter-tag = Étiquette
filter-min-amount = Montant de
filter-max-amount = à

## Fields of records

# The names of API fields in error messages and in the activity. `unknown` is the field's own name.
field-name = { $field ->
    [bbox] Emplacement
    [archivedAt] Archivage
    [assignment] Tâche
    [attribution] Source à citer
    [attributionUrl] Lien de la source
    [billable] Facturable
    [clientName] Client
    [customFields] Champs personnalisés
    [declaredFields] Champs
    [dueDate] Échéance
    [endDate] Fin
    [estimatedHours] Heures estimées
    [externalId] Identifiant externe
    [incurredOn] Date
    [isLocked] Verrouillée
    [order] Ordre
    [spentHours] Heures passées
    [startDate] Début
    [maxZoom] Zoom maximal
    [minZoom] Zoom minimal
    [tileSize] Taille des tuiles
    [hosts] Autres serveurs
    [kind] Type
    [user] Ce compte
    [submittedBy] Déclarée par
    [unitAmount] Prix unitaire
    [amount] Montant
    [appliesTo] S’applique à
    [assignees] Assignée à
    [budget] Budget
    [category] Catégorie
    [color] Couleur
    [crs] Système de coordonnées
    [currency] Devise
    [description] Description
    [disabledReason] Motif de désactivation
    [email] Adresse e-mail
    [enabled] Activé
    [events] Événements
    [expires] Expiration
    [folder] Dossier
    [form] Formulaire
    [group] Groupe
    [isDefault] Par défaut
    [name] Nom
    [owner] Responsable
    [password] Mot de passe
    [person] Personne
    [position] Position
    [priority] Priorité
    [quantity] Quantité
    [reference] Référence
    [role] Rôle
    [scope] Droit
    [secret] Secret
    [slug] Nom court
    [spent] Dépensé
    [status] Statut
    [tags] Étiquettes
    [title] Titre
    [url] URL
    [vendor] Fournisseur
   *[other] { $unknown }
}
field-name-label = Nom
field-title = Titre
field-reference = Référence
field-external-id = Identifiant externe
field-description = Description
field-status = Statut
field-client = Client
field-owner = Responsable
field-tags = Étiquettes
field-start = Début
field-due = Échéance
field-end = Fin
field-currency = Devise
field-folder = Dossier
field-assignment = Tâche
field-budget = Budget
field-budget-left = Budget restant
field-priority = Priorité
field-assigned-to = Assignée à
field-estimated-hours = Heures estimées
field-spent-hours = Heures passées
field-date = Date
field-amount = Montant
field-unit-price = Prix unitaire
field-quantity = Quantité
field-category = Catégorie
field-vendor = Fournisseur
field-submitted-by = Déclarée par
field-billable = Facturable au client
field-spent = Dépensé
field-color = Couleur
field-custom-fields = Champs personnalisés
status-none = Aucun statut
priority-name = { $priority ->
    [low] Basse
    [normal] Normale
    [high] Haute
    [urgent] Urgente
   *[other] { $priority }
}

## Page of a record

record-set-status = Appliquer
record-archive = Archiver
record-unarchive = Désarchiver
record-archived-since = Archivé depuis le { $date }.
record-details = Détails
map-open = Ouvrir la carte
map-needs-script = La carte a besoin de JavaScript. Le reste de cette page fonctionne sans.
section-all = Tout voir
section-all-description = { $kind ->
    [folder] Tout voir : dossiers
    [assignment] Tout voir : tâches
    [expense] Tout voir : dépenses
   *[budget] Tout voir : budgets
}
section-add = Ajouter
section-add-description = { $kind ->
    [folder] Ajouter un dossier
    [assignment] Ajouter une tâche
    [expense] Ajouter une dépense
   *[budget] Ajouter un budget
}
quick-add-all-fields = Tous les champs
folder-assignments-done = { $count ->
    [one] { $done } sur { $count } terminée
   *[other] { $done } sur { $count } terminées
}
folder-budget-used = { $percent } de { $amount }
folder-no-assignments = Aucune tâche.
folder-no-budgets = Aucun budget.
folder-no-expenses = Aucune dépense.
folder-no-shapes = Aucun objet pour l’instant
assignment-no-expenses = Aucune dépense pour cette tâche.
budget-over = Dépassement
budget-left = Reste
budget-used = { $percent } du budget
budget-nothing-spent = Rien n’a encore été dépensé.
budget-no-expenses = Aucune dépense n’est imputée à ce budget.
chart-title = Dépenses par rapport au budget
chart-description = { $spent } dépensés sur { $amount } ({ $percent } %) du { $from } au { $until }. { $state ->
    [over] Le budget est dépassé.
   *[within] {""}
}
chart-description-without-amount = { $spent } dépensés du { $from } au { $until }.
chart-as-table = Afficher en tableau
chart-month = Mois
chart-spent = Dépensé
chart-total = Total
chart-budget = Budget

## Forms of records

form-new = Création
form-edit = Modification
form-create = { $kind ->
    [folder] Créer le dossier
    [assignment] Créer la tâche
    [expense] Créer la dépense
   *[budget] Créer le budget
}
form-save = Enregistrer
form-save-mine = Enregistrer ma version
form-add-another = Enregistrer et continuer la saisie
form-more = Référence, identifiant externe, champs personnalisés
form-tags-hint = Séparez les étiquettes par des virgules
form-quantity-hint = 1 par défaut
form-currency-of-folder = Devise du dossier
form-linked-hint = Saisissez une partie du nom ou de la référence
form-linked-unknown = { $kind ->
    [budget] Aucun budget du dossier n’a cette référence ou ce nom, ou plusieurs portent ce nom. Choisissez une suggestion.
    [assignment] Aucune tâche du dossier n’a cette référence ou ce titre, ou plusieurs portent ce titre. Choisissez une suggestion.
   *[folder] Aucun dossier n’a cette référence ou ce nom, ou plusieurs portent ce nom. Choisissez une suggestion.
}
form-new-reference-hint = Laissez vide pour en générer une
form-reference-hint = Les liens avec l’ancienne référence ne fonctionneront plus
form-external-id-hint = L’identifiant de cette fiche dans un autre système
# Why a value is invalid, to follow the name of its field. $code tells languages other than English which rule
# it is; the parameters of `Violation` in groma-domain are arguments, too.
violation = { $code ->
    [required] est obligatoire
    [empty] ne doit pas être vide
    [unknown-field] est un champ inconnu
    [read-only] ne peut pas être modifié
    [not-scalar] doit être une seule valeur
    [common-password] est trop courant : combinez plusieurs mots sans rapport, ou utilisez un gestionnaire de mots de passe
    [too-short] doit avoir au moins { $min } caractères
    [too-long] doit avoir au plus { $max } caractères
    [wrong-length] doit avoir de { $min } à { $max } caractères
    [control-characters] ne doit pas contenir de caractères de contrôle
    [not-string] doit être un texte
    [not-one-of] doit être l’une de ces valeurs : { $values }
    [not-email] doit être une adresse e-mail, par exemple nom@example.com
    [not-color] doit être une couleur hexadécimale, par exemple #2b6cb0
    [looks-like-uuid] ne doit pas ressembler à un UUID
    [crs-fixed] ne peut pas changer tant que la couche contient des objets
    [not-slug] doit contenir une lettre ou un chiffre, et ne doit pas ressembler à un UUID
    [not-number] doit être un nombre, par exemple 1250,00
    [not-integer] doit être un nombre entier de { $min } à { $max }
    [too-many-decimals] doit avoir au plus { $max } décimales
    [too-many-digits] doit avoir au plus { $max } chiffres avant la virgule
    [negative] ne doit pas être négatif
    [not-boolean] doit être oui ou non
    [not-date] doit être une date, par exemple 2026-11-15
    [not-timestamp] doit être une date avec une heure, par exemple 2026-11-15T04:01:10Z
    [end-before-start] ne doit pas précéder la date de début
    [not-whole] doit être un nombre entier
    [out-of-range] doit être un nombre de { $min } à { $max }
    [not-ascending] doit être supérieur au précédent
    [not-list] doit être une liste
    [too-many-entries] doit avoir au plus { $max } entrées
    [not-for-boolean] doit être vide pour le type oui ou non
    [no-first-range] ne doit être vide que pour l’intervalle le plus bas
    [not-currency] doit être un code de devise ISO 4217, par exemple EUR
    [wrong-decimals] doit avoir au plus { $max } décimales en { $currency }
    [not-whole-amount] doit être un nombre entier en { $currency }
    [not-budget-currency] doit être { $currency }, la devise du budget
    [not-key] doit être un identifiant ou une référence
    [not-found] « { $key } » n’existe pas
    [taken] « { $value } » est déjà utilisé
    [assignment-in-use] ne peut pas changer tant que des dépenses utilisent cette tâche
    [not-status] « { $name } » n’est pas un statut possible ici
    [several-match] désigne plusieurs enregistrements avec « { $value } »
    [same-status] doit être un autre statut
    [default-status] est obligatoire : ce statut est celui par défaut
    [status-in-use] est obligatoire : ce statut est utilisé
    [no-such-person] n’est pas une personne de cet espace de travail
    [too-many-mails] a reçu trop de messages : réessayez dans une heure
    [last-login-method] ne peut pas être supprimé : sans lui, vous ne pourriez plus vous connecter
    [second-factor-required] ne peut pas être supprimé : l’un de vos espaces de travail exige un second facteur
    [second-factor-missing] exige que vous vous connectiez vous-même avec un second facteur
    [identity-taken] est lié à un autre compte
    [last-owner-of] est le seul propriétaire de { $workspaces } : nommez d’abord un autre propriétaire
    [is-member] est membre : retirez d’abord cette personne de l’espace de travail
    [not-id] doit être un identifiant
    [not-box] doit être une liste de quatre nombres en degrés : ouest, sud, est, nord
    [endpoint-disabled] est désactivé ; activez-le d’abord
    [http-not-allowed] ne peut pas être activé : l’exploitant n’autorise pas les URL http ; passez d’abord l’URL en https
    [event-erased] ne peut plus être renvoyé : des données personnelles ont été effacées de son événement
    [last-owner] ne peut pas changer : un espace de travail a besoin d’un propriétaire
    [another-folder] appartient à un autre dossier
    [budget-in-use] ne peut pas changer tant que des dépenses utilisent ce budget
    [not-person] doit être une adresse e-mail ou un identifiant
    [too-many-people] doit avoir au plus { $max } personnes
    [wrong-tag] ne doit contenir que des étiquettes de 1 à { $max } caractères
    [too-many-tags] doit avoir au plus { $max } étiquettes
    [service-owner] ne peut pas être propriétaire : un compte de service ne peut pas se connecter
    [token-too-long] doit être dans { $days } jours au plus
    [too-many-views] ne peut pas être ajoutée : un membre peut enregistrer au plus { $max } vues
    [too-many-custom-fields] doit avoir au plus { $max } champs
    [wrong-custom-field-name] doit avoir des noms de 1 à { $max } caractères
    [wrong-custom-field-number] doit contenir un nombre d’au plus { $max } caractères dans « { $name } »
    [custom-field-too-long] doit avoir au plus { $max } caractères dans « { $name } »
    [custom-field-control-characters] ne doit pas contenir de caractères de contrôle dans « { $name } »
    [not-url] doit être une adresse qui commence par { $schemes }
    [url-whitespace] ne doit contenir ni espaces ni caractères de contrôle
    [url-without-host] doit avoir un nom d’hôte et un port valide
    [url-credentials] ne doit pas contenir d’identifiants de connexion
    [url-fragment] ne doit pas contenir de fragment (#)
    [url-private-address] ne doit pas contenir d’adresse privée ou locale
    [no-events] doit contenir au moins un événement
    [unknown-event] contient l’événement inconnu « { $name } »
    [repeated-event] contient « { $name } » plusieurs fois
    [not-printable] ne doit contenir que des caractères ASCII imprimables
    [surrounding-space] ne doit ni commencer ni finir par une espace
    [http-not-private] doit commencer par https:// ; http:// n’est accepté que pour votre propre réseau
    [missing-placeholders] doit contenir { $names }
    [unknown-placeholder] contient la variable inconnue { $name } ; remplacez-la par sa valeur
    [key-without-placeholder] ne sert pas : l’URL ne contient pas {"{key}"}
    [too-many-hosts] doit avoir au plus { $max } serveurs
    [too-many-base-maps] ne peut pas être ajouté : un espace de travail a au plus { $max } fonds de carte
   *[other] { $text }
}
form-custom-number = doit être un nombre
form-custom-boolean = doit être oui ou non
form-custom-twice = « { $name } » est utilisé deux fois ; supprimez l’un des deux
form-custom-name = Nom
form-custom-value = Valeur
form-custom-name-of = Nom du champ personnalisé { $number }
form-custom-type-of = Type du champ personnalisé { $number }
form-custom-value-of = Valeur du champ personnalisé { $number }
form-custom-type = { $type ->
    [text] Texte
    [number] Nombre
    [boolean] Oui ou non
   *[null] Vide
}
record-edit-title = Modifier { $title }
record-created = { $kind ->
    [folder] Dossier { $reference } créé.
    [assignment] Tâche { $reference } créée.
    [expense] Dépense { $reference } créée.
   *[budget] Budget { $reference } créé.
}
expense-over-budget = Le budget { $budget } est dépassé : { $percent } utilisés.
record-saved = { $kind ->
    [folder] Dossier { $reference } enregistré.
    [assignment] Tâche { $reference } enregistrée.
    [expense] Dépense { $reference } enregistrée.
   *[budget] Budget { $reference } enregistré.
}
record-unchanged = { $kind ->
    [folder] Dossier { $reference } : aucune modification à enregistrer.
    [assignment] Tâche { $reference } : aucune modification à enregistrer.
    [expense] Dépense { $reference } : aucune modification à enregistrer.
   *[budget] Budget { $reference } : aucune modification à enregistrer.
}
record-deleted = { $kind ->
    [folder] Dossier { $reference } supprimé.
    [assignment] Tâche { $reference } supprimée.
    [expense] Dépense { $reference } supprimée.
   *[budget] Budget { $reference } supprimé.
}
record-status-changed = Statut de { $reference } modifié.
record-status-conflict = Quelqu’un d’autre a modifié cette fiche : le statut n’a pas été changé. Vérifiez la fiche, puis changez à nouveau le statut.
folder-archived = Dossier { $reference } archivé.
folder-unarchived = Dossier { $reference } désarchivé.
conflict-title = Quelqu’un d’autre a modifié cette fiche
conflict-text = Vos modifications ne sont pas encore enregistrées. Comparez les valeurs enregistrées avec les vôtres. Pour enregistrer les valeurs du formulaire ci-dessous, choisissez « Enregistrer ma version ».
conflict-field = Champ
conflict-saved = Valeur enregistrée
conflict-typed = Votre valeur
conflict-same = Les valeurs enregistrées sont identiques aux vôtres.
conflict-discard = Abandonner mes modifications
expenses-entered = Dépenses du dossier { $folder }
expenses-entered-count = { $count ->
    [one] pour { $count } dépense
   *[other] pour { $count } dépenses
}
expenses-entered-newest = pour les { $count } dépenses les plus récentes
expenses-entered-empty = Aucune dépense pour l’instant.

## Deleting

delete-title = Supprimer { $name }
delete-nothing-else = Rien d’autre ne sera supprimé.
delete-also = Ce qui suit sera aussi supprimé :
delete-keeps = Ce qui suit sera conservé :
delete-keeps-shapes = { $count ->
    [one] { $count } objet sur la carte, dont le lien avec le dossier sera supprimé
   *[other] { $count } objets sur la carte, dont le lien avec le dossier sera supprimé
}
delete-keeps-expenses = { $kind ->
    [assignment] { $expenses }, dont le lien avec la tâche sera supprimé
   *[budget] { $expenses }, dont le lien avec le budget sera supprimé
}
delete-type = { $what ->
    [reference] Saisissez la référence <code>{ $text }</code> pour confirmer
    [slug] Saisissez le nom court <code>{ $text }</code> pour confirmer
   *[name] Saisissez le nom <code>{ $text }</code> pour confirmer
}
delete-wrong-confirmation = { $confirm_with ->
    [reference] La référence ne correspond pas : rien n’a été supprimé. Saisissez-la exactement comme indiqué.
    [slug] Le nom court ne correspond pas : rien n’a été supprimé. Saisissez-le exactement comme indiqué.
   *[name] Le nom ne correspond pas : rien n’a été supprimé. Saisissez-le exactement comme indiqué.
}
delete-conflict = Quelqu’un d’autre a modifié cette fiche depuis que vous avez ouvert la page : rien n’a été supprimé. Vérifiez ce qui sera supprimé, puis confirmez à nouveau.

## Map

map-page-needs-script = La carte a besoin de JavaScript. Sans JavaScript, ouvrez un dossier pour voir ses fiches.
map-nothing-to-save = Il n’y a aucun objet à enregistrer. Dessinez-en un d’abord.
map-one-shape = La requête contient plusieurs objets. Enregistrez un seul objet à la fois.
map-table-label = Objets de { $layer }
map-table-zoom = Zoomer
map-table-zoom-to = Zoomer sur { $name }
map-table-feature = objet { $number }
map-table-external-id = ID externe
map-table-updated = Modifié
map-table-records = Fiches liées
map-table-pinned = Sélectionné sur la carte, hors de cette page du tableau
map-table-empty = Cette couche n’a pas encore d’objets.
map-table-no-match = Aucun objet ne correspond.
map-table-bad-query = L’étendue doit comporter quatre nombres : ouest, sud, est, nord.

## Settings: API tokens

security-log-title = Journal de sécurité
security-log-subtitle = Connexions, membres, jetons et paramètres
security-log-topics = Sujet
security-log-topic = { $topic ->
    [login] Connexions
    [session] Sessions
    [password] Mots de passe
    [factor] Seconds facteurs
    [identity] Comptes d’entreprise
    [user] Comptes
    [member] Membres
    [invitation] Invitations
    [token] Jetons d’API
    [webhook] Webhooks
    [export] Exports
    [command] Commandes
    [backup] Sauvegardes et copies
    [workspace] Espace de travail
    [baseMap] Fonds de carte
   *[all] Tous les sujets
}
security-log-empty = Aucune entrée.
security-log-time = Date
security-log-what = Événement
security-log-who = Par
security-log-address = Adresse
security-log-details = Détails
security-log-stranger = Inconnu
security-log-former-member = Ancien membre
security-log-token = avec le jeton « { $name } »
security-log-rehearsal = essai
security-log-second-factor = { $state ->
    [required] second facteur obligatoire
   *[optional] second facteur facultatif
}
security-log-reason = { $reason ->
    [disabled] compte désactivé
    [providerFailed] refusé par le fournisseur d’identité
    [notConnected] compte non associé
    [emailNotVerified] adresse e-mail non vérifiée
    [notInvited] aucune invitation
    [invitationInvalid] invitation non valable
   *[other] { $reason }
}
security-log-action = { $action ->
    [login-succeeded] Connexion
    [login-failed] Échec de connexion
    [login-secondFactorFailed] Échec de la deuxième étape d’une connexion
    [login-throttled] Connexion refusée : trop de tentatives échouées
    [login-recoveryCodeUsed] Code de secours utilisé
    [factor-appAdded] Application d’authentification configurée
    [factor-appRemoved] Application d’authentification désactivée
    [factor-passkeyAdded] Clé d’accès ajoutée
    [factor-passkeyRemoved] Clé d’accès supprimée
    [factor-recoveryCodesReplaced] Codes de secours remplacés
    [factor-allRemoved] Seconds facteurs supprimés par l’exploitant
    [password-removed] Mot de passe supprimé
    [identity-connected] Compte d’un fournisseur d’identité lié
    [identity-disconnected] Compte d’un fournisseur d’identité dissocié
    [logout] Déconnexion
    [session-ended] Session terminée
    [session-othersEnded] Toutes les autres sessions terminées
    [session-allEnded] Toutes les sessions terminées
    [password-changed] Mot de passe modifié
    [password-changeFailed] Mot de passe erroné lors de sa modification
    [password-reset] Mot de passe réinitialisé
    [user-disabled] Compte désactivé
    [user-enabled] Compte réactivé
    [user-deleted] Compte supprimé
    [member-added] Membre ajouté
    [member-updated] Rôle modifié
    [member-removed] Membre retiré
    [member-erased] Données personnelles effacées
    [member-renamed] Membre renommé
    [invitation-created] Invitation créée
    [invitation-cancelled] Invitation annulée
    [token-created] Jeton créé
    [token-revoked] Jeton révoqué
    [workspace-created] Espace de travail créé
    [workspace-updated] Paramètres de l’espace de travail modifiés
    [workspace-deleted] Espace de travail supprimé
    [webhook-created] Point de terminaison ajouté
    [webhook-updated] Point de terminaison modifié
    [webhook-enabled] Point de terminaison activé
    [webhook-disabled] Point de terminaison désactivé
    [webhook-gaveUp] Point de terminaison désactivé après des échecs
    [webhook-secretRotated] Secret du webhook renouvelé
    [webhook-rekeyed] Clé de chiffrement remplacée
    [webhook-encrypted] Secrets des webhooks chiffrés
    [webhook-deleted] Point de terminaison supprimé
    [baseMap-created] Fond de carte ajouté
    [baseMap-updated] Fond de carte modifié
    [baseMap-deleted] Fond de carte supprimé
    [export-created] Données exportées
    [command-started] Données modifiées en ligne de commande
    [backup-started] Sauvegarde commencée
    [backup-restored] Base de données restaurée à partir d’une sauvegarde
    [backup-copyStarted] Copie de la base de données commencée
   *[other] { $action }
}

tokens-title = Jetons d’API
token-new = Nouveau jeton
tokens-empty = Aucun jeton pour l’instant. Les scripts, QGIS et d’autres services utilisent un jeton pour lire cet espace de travail. Un jeton ne peut jamais faire plus que la personne à qui il appartient.
token-create = Créer un jeton
token-copy-now = Copiez ce jeton maintenant. Il ne sera plus affiché.
token-column-token = Jeton
token-column-scopes = Droits
token-column-last-used = Dernière utilisation
token-column-expires = Expiration
token-no-scopes = aucun
token-never = jamais
token-ended = { $reason ->
    [revoked] révoqué
   *[expired] expiré
}
token-revoke = Révoquer
token-revoke-named = Révoquer { $name }
tokens-own-only = Cette liste montre seulement vos jetons. Les administrateurs voient tous les jetons de l’espace de travail.
tokens-docs = La <a href="/docs/">documentation de l’API</a> explique comment utiliser les jetons.
token-name-hint = Le script ou le service qui utilisera le jeton, par exemple « QGIS bureau » ou « Export de nuit »
token-scopes-hint = Choisissez ce que le jeton peut faire. Lire les statuts, les couches et les géométries ne nécessite aucun droit.
token-scope-needs-admin = Seuls les administrateurs et les propriétaires peuvent accorder ce droit.
token-scope-needs-editor = Les lecteurs ne peuvent pas accorder ce droit.
scope-description = { $scope ->
    [READ_FOLDER] Lister et lire les dossiers
    [READ_ASSIGNMENT] Lister et lire les tâches
    [READ_EXPENSE] Lister et lire les dépenses
    [READ_BUDGET] Lister et lire les budgets
    [READ_MEMBER] Lister les membres de l’espace de travail
    [WRITE_FOLDER] Créer, modifier, archiver et supprimer des dossiers
    [WRITE_ASSIGNMENT] Créer, modifier et supprimer des tâches
    [WRITE_EXPENSE] Créer, modifier et supprimer des dépenses
    [WRITE_BUDGET] Créer, modifier et supprimer des budgets
    [MANAGE_STATUS] Créer, modifier et supprimer des statuts
   *[MANAGE_WEBHOOK] Gérer les webhooks et leurs envois
}
token-scope-forbidden = Votre rôle ne permet pas d’accorder tous ces droits. Choisissez d’autres droits.
token-expires-after = Expire après
token-expires-days = { $days } jours
token-expires-never = Jamais
token-expires-invalid = choisissez 30, 90 ou 365 jours, ou jamais
tokens-shortened = { $count ->
    [one] { $count } jeton a été créé pour plus de { $days } jours, la durée maximale des jetons. Il expire selon cette limite.
   *[other] { $count } jetons ont été créés pour plus de { $days } jours, la durée maximale des jetons. Ils expirent selon cette limite.
}
token-shortened = par la durée maximale
token-already-created = Ce jeton a déjà été créé. Si vous ne l’avez pas copié, révoquez-le et créez-en un nouveau.
token-revoke-title = Révoquer « { $name } »
token-revoke-text = Les requêtes avec ce jeton échoueront immédiatement. Un jeton révoqué ne peut pas être rétabli ; créez-en un nouveau.
token-revoked = Jeton « { $name } » révoqué.
token-owner = Agit pour
token-owner-me = Moi
token-read-only = Lecture seule
token-read-only-hint = Les requêtes qui modifient des données sont refusées, quels que soient les droits.

## Settings: webhooks

webhooks-title = Webhooks
webhook-new = Nouveau webhook
webhook-create = Créer un webhook
webhooks-empty = Aucun webhook pour l’instant. Groma envoie une requête signée à l’adresse du webhook chaque fois qu’un dossier, une tâche, une dépense ou un budget change.
webhook-column-endpoint = Adresse
webhook-column-events = Événements
webhook-column-health = État
webhook-column-recent = Envois récents
webhook-recent-description = { $count ->
    [one] Dernier envoi : { $failed ->
        [one] { $failed } échec
       *[other] { $failed } échecs
    }
   *[other] { $count } derniers envois : { $failed ->
        [one] { $failed } échec
       *[other] { $failed } échecs
    }
}
webhook-health = { $state ->
    [disabled] Désactivé
    [failing] En échec
    [delivering] Opérationnel
   *[unused] Aucun envoi pour l’instant
}
webhook-since = ·
webhooks-docs = La <a href="/docs/">documentation de l’API</a> explique comment vérifier les envois et quand un envoi en échec est retenté.
webhooks-limit = Un espace de travail peut avoir au maximum { $count } webhooks.
webhook-all-events = tous les événements
webhook-url = URL
webhook-url-hint = L’URL HTTPS qui reçoit les envois
webhook-url-hint-http = L’URL HTTP ou HTTPS qui reçoit les envois
webhook-secret = Secret
webhook-secret-hint = Sert à signer les envois. Laissez vide pour en générer un
webhook-events = Événements
webhook-choose-all = Tous les événements
webhook-choose-all-hint = Tous les événements des dossiers, tâches, dépenses et budgets. Les choix ci-dessous sont ignorés.
webhook-filter = Filtre
webhook-filter-folders = { $count ->
    [one] { $count } dossier
   *[other] { $count } dossiers
}
webhook-filter-layers = { $count ->
    [one] { $count } couche
   *[other] { $count } couches
}
webhook-filter-area = zone { $box }
webhook-filter-notice = Le destinataire ne reçoit que les événements de : { $filter }. Enregistrer ce formulaire conserve ce filtre. Pour le changer, utilisez l’API.
webhook-no-events = Choisissez au moins un événement, ou tous les événements.
webhook-edit-title = Modifier le webhook
webhook-created = Webhook créé.
webhook-saved = Webhook enregistré.
webhook-enabled = Webhook activé. Les envois en attente partent maintenant.
webhook-disabled = Webhook désactivé. Les nouveaux événements ne sont plus mis en attente tant que vous ne le réactivez pas.
webhook-test-sent = Événement de test envoyé. Rechargez cette page pour voir le résultat.
webhook-endpoint = Webhook
webhook-send-test = Envoyer un événement de test
webhook-rotate = Renouveler le secret
webhook-disable = Désactiver
webhook-enable = Activer
webhook-copy-secret-now = Copiez ce secret maintenant. Il ne sera plus affiché.
webhook-signature-text = Il sert à vérifier les envois : l’en-tête <code>{ $header }</code> est le HMAC-SHA256 du corps.
webhook-sample-text = Pour envoyer un exemple de requête signée depuis un terminal :
webhook-disabled-notice = Ce webhook est désactivé ({ $reason }). Les nouveaux événements ne sont pas mis en attente. Les envois en attente partiront quand vous le réactiverez.
webhook-disabled-reason = { $reason ->
    [gone] le destinataire a répondu 410 Gone
    [failing] aucun envoi n’a abouti depuis cinq jours
    [copied] cette base de données est une copie, faite pendant que l’original était utilisé
    [http] l’exploitant n’autorise pas les adresses en http
    [api] par l’API
   *[by] par { $name }
}
webhook-since-label = { $state ->
    [failing] Début des échecs
    [disabled] Désactivation
   *[other] Dernier succès
}
webhook-created-at = Création
webhook-updated-at = Modification
webhook-old-secret-until = Expiration de l’ancien secret
webhook-rotate-title = Renouveler le secret
webhook-rotate-submit = Créer un nouveau secret
webhook-rotate-note = Un nouveau secret sera créé pour { $url } et affiché une seule fois. Tant que l’ancien secret est valable, l’en-tête Standard Webhooks contient une signature pour chaque secret. L’en-tête { $header } utilise seulement le nouveau secret.
webhook-rotated = Nouveau secret créé.
webhook-overlap = Expiration de l’ancien secret
webhook-overlap-hours = { $hours ->
    [24] Dans 1 jour
    [168] Dans 1 semaine
    [1] Dans 1 heure
   *[0] Immédiatement
}
webhook-delete = Supprimer le webhook
webhook-delete-title = Supprimer le webhook
webhook-delete-text = { $url } ne recevra plus d’événements. Les envois en attente seront annulés, et le journal des envois sera supprimé.
webhook-deleted = Webhook supprimé.
deliveries-title = Envois
deliveries-state = État
deliveries-event = Événement
deliveries-any-state = Tous les états
deliveries-any-event = Tous les événements
deliveries-show = Afficher
deliveries-none-match = Aucun envoi correspondant.
deliveries-empty = Aucun envoi pour l’instant. Le prochain changement correspondant apparaîtra ici. Pour essayer le webhook tout de suite, envoyez un événement de test.
deliveries-attempts = Tentatives
deliveries-response = Réponse
deliveries-created = Création
deliveries-next = Prochaine tentative
deliveries-resend-title = Relancer les envois en échec
deliveries-resend-within = Période des échecs
deliveries-last-hour = dernière heure
deliveries-last-day = dernières 24 heures
deliveries-last-week = 7 derniers jours
deliveries-last-month = 30 derniers jours
deliveries-resend = Relancer
deliveries-resent = { $count ->
    [0] Aucun envoi n’a échoué pendant cette période.
    [one] { $count } envoi relancé.
   *[other] { $count } envois relancés.
}
delivery-title = Envoi
delivery-test = test
delivery-state = { $state ->
    [waiting] en attente
    [sending] en cours
    [delivered] réussi
    [failed] en échec
    [cancelled] annulé
   *[retrying] à retenter
}
delivery-state-filter = { $state ->
    [waiting] En attente
    [sending] En cours
    [delivered] Réussi
    [cancelled] Annulé
   *[failed] En échec
}
delivery-next-attempt = Prochaine tentative
delivery-no-attempts = Aucune tentative pour l’instant. Les tentatives de plus de 30 jours ne sont pas affichées.
delivery-empty-response = La réponse n’avait pas de corps.
delivery-response-of = Réponse à la tentative { $number }
delivery-request = Requête
delivery-request-body = Corps de la requête
delivery-erased = Des données personnelles ont été effacées de cet événement, son contenu a donc changé. Il ne peut plus être renvoyé.
delivery-resent = Envoi relancé.
attempt-no-response = aucune réponse

## Settings: members

members-title = Membres
members-link-copy-now = Copiez ce lien maintenant. Il ne sera plus affiché.
members-link-hint = Le lien est valable pour une seule personne et expire dans 7 jours.
members-column-name = Nom
members-column-role = Rôle
members-you = (vous)
members-role-of = Rôle du membre { $name }
members-save-role = Enregistrer
members-leave = Quitter
members-remove = Retirer
members-remove-named = Retirer { $name }
members-invite = Inviter un membre
members-invite-email = Adresse e-mail
members-create-link = Créer un lien
members-send-invitation = Envoyer l’invitation
members-invitation-sent = Invitation envoyée à { $email }.
members-invitation = Invitation en attente
members-invited-by = Envoyée par
members-invitation-expires = Expiration
members-revoke-invitation = Révoquer
members-revoke-invitation-of = Révoquer l’invitation : { $recipient }
members-invitation-revoked = Invitation révoquée.
members-email-invalid = Adresse e-mail non valide : { $reason }.
members-role-changed = { $name } a maintenant le rôle { $role }.
members-leave-title = Quitter cet espace de travail
members-leave-text = Vous perdrez immédiatement l’accès, et vos jetons d’API pour cet espace de travail seront révoqués. Votre nom reste sur les fiches existantes.
members-left = Vous avez quitté l’espace de travail.
members-remove-title = Retirer { $name }
members-remove-text = { $name } perdra immédiatement l’accès, et ses jetons d’API pour cet espace de travail seront révoqués. Son nom reste sur les fiches existantes.
members-removed = { $name } ne fait plus partie de l’espace de travail.
members-service-account = Compte de service
members-service-title = Comptes de service
members-service-hint = Un compte de service est un membre sans identifiants de connexion. Il détient les jetons d’une machine, qui restent valides quand des personnes partent.
members-service-add = Ajouter un compte de service
members-others = Anciens membres et autres personnes
members-others-hint = Des données mentionnent ces personnes, mais elles ne peuvent pas se connecter à cet espace de travail. Effacer une personne remplace son nom et son adresse par « Former member » ; les données restent.
person-erase = Effacer
person-erase-named = Effacer { $name }
person-erase-title = Effacer { $name }
person-erase-text = Le nom et l’adresse de { $name } sont remplacés par « Former member » dans les données, l’activité et les événements de webhooks de cet espace de travail. Les données restent. Cette action est irréversible.
person-erased = Données personnelles effacées.
member-state-disabled = Désactivé
member-created = Création
member-last-seen = Dernière activité
member-disabled-since = Désactivation
member-no-tokens = Aucun jeton valable.
member-access = { $access ->
    [own] C’est votre propre compte. Vous pouvez le modifier ou le supprimer sur la page Compte.
    [not-owner] Seuls les propriétaires peuvent désactiver ou supprimer des comptes.
   *[elsewhere] Cette personne appartient aussi à un espace de travail dont vous n’êtes pas propriétaire. Vous pouvez seulement la retirer de cet espace de travail.
}
member-disable = Désactiver le compte
member-disable-hint = La désactivation ferme immédiatement toutes les sessions du compte, et la personne ne peut plus se connecter. Le compte peut être réactivé.
member-revoke-tokens = Révoquer les jetons d’API de ce compte
member-revoke-tokens-hint = Les programmes qui utilisent ces jetons ne fonctionneront plus. Sinon, ils continuent de fonctionner tant que le compte est désactivé.
member-disabled = Le compte de { $name } est désactivé.
member-enable = Réactiver le compte
member-enable-hint = Ce compte est désactivé : la personne ne peut pas se connecter. Les jetons révoqués le restent.
member-enabled = Le compte de { $name } est réactivé.
member-delete = Supprimer le compte
member-delete-hint = La suppression du compte efface le nom et l’adresse de la personne. Ses données restent.
member-delete-title = Supprimer le compte de { $name }
member-delete-text = { $name } perdra l’accès immédiatement et ses jetons d’API seront révoqués. Son nom et son adresse sont remplacés par « Former member » dans les données, l’activité et les événements de webhooks. Les données restent. Cette action est irréversible.
member-deleted = Compte supprimé.
members-service-added = { $name } a été ajouté. Créez un jeton pour ce compte dans Jetons d’API.
role-name = { $role ->
    [viewer] lecteur
    [editor] éditeur
    [admin] administrateur
   *[owner] propriétaire
}
role-description = { $role ->
    [viewer] Lecteur : peut tout lire
    [editor] Éditeur : peut modifier les fiches et les objets
    [admin] Administrateur : peut aussi gérer les statuts, les couches, les webhooks et les membres
   *[owner] Propriétaire : peut aussi supprimer l’espace de travail
}

## Settings: workspace

workspace-title = Espace de travail
workspace-currency = Devise
workspace-currency-hint = Par défaut pour les nouveaux dossiers
workspace-max-token-days = Durée maximale des jetons d’API, en jours
workspace-max-token-days-hint = Compte à partir de la création du jeton. S’applique aussi aux jetons existants : les plus anciens cessent de fonctionner à l’enregistrement. Laissez vide pour ne pas fixer de limite.
workspace-offered-crs = Systèmes de référence pour les logiciels SIG
workspace-offered-crs-hint = Codes EPSG, par exemple EPSG:2154, EPSG:3948. L’API OGC les propose pour chaque couche, en plus de WGS 84, de Web Mercator et du système propre à la couche.
workspace-max-token-days-invalid = doit être un nombre de 1 à 36500, ou vide
workspace-saved = Espace de travail enregistré.
workspace-for-scripts = API
workspace-key = Clé de l’espace de travail
workspace-created = Création
workspace-delete-title = Supprimer l’espace de travail
workspace-delete-text = Cela supprime toutes les fiches, toutes les couches, tous les membres et tous les jetons. Cette action est définitive.
workspace-delete = Supprimer l’espace de travail…
workspace-delete-layers = { $count ->
    [one] { $count } couche avec { $shapes }
   *[other] { $count } couches avec { $shapes }
}
workspace-delete-access = tous les accès des membres et tous les jetons d’API
workspace-deleted = Espace de travail { $name } supprimé.

## Settings: statuses

statuses-title = Statuts
status-new = Nouveau statut
status-create = Créer le statut
status-add = Ajouter
status-add-description = Ajouter un statut pour les { kind-plural }
status-column-status = Statut
status-column-group = Groupe
status-column-default = Par défaut
status-is-default = par défaut
status-move-up = Monter { $name }
status-move-down = Descendre { $name }
status-edit-named = Modifier { $name }
status-delete-named = Supprimer { $name }
status-group = { $group ->
    [todo] à faire
    [in-progress] en cours
    [done] terminé
   *[cancelled] annulé
}
status-field-kind = S’applique à
status-field-group = Groupe
status-group-hint = Les tâches sont terminées dans le groupe « terminé », et ouvertes dans les groupes « à faire » et « en cours ». Les dépenses du groupe « annulé » ne comptent pas dans les budgets, les totaux et les graphiques ; si vous changez le groupe, les budgets changent.
statuses-note = Les dépenses dont le statut est annulé ne comptent pas dans les budgets, les totaux et les graphiques.
status-field-default = Par défaut pour les nouvelles fiches
status-edit-title = Modifier { $name }
status-name-taken = « { $name } » existe déjà
status-saved = Statut « { $name } » enregistré.
status-moved = Statut « { $name } » déplacé.
status-deleted = Statut « { $name } » supprimé.
status-delete = Supprimer le statut
status-delete-note = Le nouveau statut remplacera celui-ci dans { $records }, et les webhooks signaleront chaque changement.
status-replacement = Nouveau statut de ces fiches
status-replacement-none = Aucun

## Settings: layers

layers-title = Couches
layer-new = Nouvelle couche
layer-create = Créer une couche
layers-empty = Aucune couche pour l’instant. Une couche est un ensemble d’objets du même type, par exemple des parcelles, des points de levé ou des réseaux. Les objets sans couche vont dans la couche « Submissions ».
layer-column-name = Couche
layer-column-slug = Nom court
layer-column-shapes = Objets
layer-column-type = Géométrie
layer-column-updated = Mise à jour
layer-edit-named = Modifier { $name }
layer-delete-named = Supprimer { $name }
layers-url = QGIS et MapLibre peuvent lire ces couches à l’adresse <code>{ $url }</code> avec un jeton d’API.
layer-geometry-type = { $type ->
    [none] aucune
    [point] points
    [linestring] lignes
    [polygon] polygones
    [mixed] mixte
   *[other] { $type }
}
layer-edit-title = Modifier { $name }
layer-slug-note = Le nom court « { $slug } », utilisé dans les URL et les tuiles, ne change pas.
layer-new-slug-note = Le nom court, utilisé dans les URL et les tuiles, est tiré du nom et ne pourra plus être modifié.
layer-crs = Système de coordonnées
layer-crs-hint = Par exemple EPSG:2154. Les coordonnées envoyées dans ce système sont conservées telles quelles. Laissez vide pour WGS 84. Ne peut pas être modifié tant que la couche contient des objets.
layer-attribution = Source à citer
layer-attribution-hint = La source à citer sur les cartes. Laissez vide pour citer le nom de l’espace de travail.
layer-created = Couche « { $name } » créée.
layer-saved = Couche « { $name } » enregistrée.
layer-deleted = Couche « { $name } » supprimée.
layer-delete-keeps-folders = les dossiers auxquels les objets appartiennent
layers-order-note = Sur les cartes, une couche est dessinée au-dessus de celles qui la suivent dans cette liste. Les points sont toujours au-dessus des lignes, et les lignes au-dessus des polygones.
layer-badge-locked = Verrouillée
layer-move-up = Monter { $name }
layer-move-down = Descendre { $name }
layer-moved = Couche « { $name } » déplacée.
layer-pages = Pages de la couche
layer-tab-general = Général
layer-tab-fields = Champs
layer-tab-style = Style
layer-lock = Verrouiller
layer-unlock = Déverrouiller
layer-locked = Couche « { $name } » verrouillée.
layer-unlocked = Couche « { $name } » déverrouillée.
layer-is-locked = Cette couche est verrouillée : ses objets ne peuvent être ni ajoutés, ni modifiés, ni supprimés.
layer-fields-title = Champs de { $name }
layer-fields-note = Les objets dessinés, importés ou envoyés doivent respecter ces champs. Les autres attributs peuvent avoir n’importe quelle valeur. Les objets existants sont vérifiés lorsque leurs attributs changent.
layer-fields-unfit = { $count ->
    [one] { $count } objet ne respecte pas encore ces champs.
   *[other] { $count } objets ne respectent pas encore ces champs.
}
layer-fields-saved = Champs de « { $name } » enregistrés.
layer-field-new = Nouveau champ
layer-field-add = Ajouter un champ
layer-field-name = Nom
layer-field-type = Type
layer-field-type-name = { $type ->
    [text] Texte
    [number] Nombre
    [integer] Nombre entier
    [boolean] Oui ou non
   *[date] Date
}
layer-field-unit = Unité
layer-field-unit-example = p. ex. m²
layer-field-default = Valeur par défaut
layer-field-choices = Choix
layer-field-choices-hint = Un par ligne. Laissez vide pour accepter toute valeur.
layer-field-required = Obligatoire
layer-field-remove = Supprimer
layer-tab-check = Vérifier
layer-check-title = Vérifier { $name }
layer-check-note = Recherche les objets qui se croisent eux-mêmes, les pointes, les points répétés, les copies, les chevauchements et les vides entre polygones, ainsi que les objets mal placés. La vérification ne modifie rien.
layer-check-tolerance = Tolérance (mètres)
layer-check-tolerance-hint = Les chevauchements et les vides jusqu’à cette largeur sont ignorés. Les pointes sont signalées jusqu’à cette largeur.
layer-check-invalid-tolerance = La tolérance doit être un nombre entre 0,001 et 100.
layer-check-run = Vérifier
layer-check-result = Résultat
layer-check-shapes = { $count ->
    [one] { $count } objet vérifié
   *[other] { $count } objets vérifiés
}
layer-check-none = Aucun problème trouvé.
layer-check-incomplete = Certaines formes se superposent ou se croisent trop souvent pour être comparées. Il peut manquer des chevauchements et des vides dans cette liste.
layer-check-problem = Problème
layer-check-problems = Problèmes
layer-check-count = Nombre
layer-check-shape = Objets
layer-check-area = Surface
layer-check-place = Lieu
layer-check-position = { $latitude } ; { $longitude }
layer-check-show = Afficher sur la carte
layer-check-first = Les 100 premiers de chaque type
layer-check-kind = { $kind ->
    [self-intersection] Se croise ou se touche
    [repeated-position] Point répété
    [spike] Pointe
    [no-extent] Sans surface ni longueur
    [hole-outside] Trou hors de son polygone
    [outside-area] Hors de la zone du système de référence
    [swapped-axes] Coordonnées sans doute inversées
    [duplicate] Même objet deux fois
    [overlap] Chevauchement
   *[other] Vide
}
layer-check-repair = Réparer
layer-check-repair-start = Réparer…
layer-check-repair-note = La réparation supprime les points répétés et les pointes, et corrige les croisements. Elle supprime une copie si tous les attributs et liens sont identiques et si elle n’a pas d’identifiant externe. Le reste ne change pas.
layer-check-repair-title = Réparer { $name }
layer-check-repair-text = Objets à réparer : { $repaired }. Copies à supprimer : { $deleted }. Cette action est irréversible.
layer-check-repaired = Objets réparés : { $repaired }. Copies supprimées : { $deleted }.
layer-check-nothing = Rien ne peut être réparé automatiquement.
layer-style-title = Style : { $name }
layer-style-saved = Style de la couche « { $name } » enregistré.
layer-style-colors = Couleurs
layer-style-mode = Couleurs selon
layer-style-mode-name = { $mode ->
    [single] Une seule couleur
    [categories] Couleur par catégorie
   *[ranges] Couleur par intervalle
}
layer-style-color = Couleur de la couche
layer-style-color-hint = Dans la liste des couches, et pour tous les objets sans autre couleur.
layer-style-property = Attribut
layer-style-property-none = Choisissez un attribut
layer-style-suggest = Remplir les valeurs
layer-style-categories = Catégories
layer-style-categories-hint = Effacez une valeur pour la supprimer. Pour obtenir une ligne par valeur de l’attribut, cliquez sur « Remplir les valeurs ».
layer-style-value = Valeur de la catégorie { $number }
layer-style-value-color = Couleur de la catégorie { $number }
layer-style-ranges = Intervalles
layer-style-ranges-hint = Indiquez le nombre auquel commence chaque intervalle. Effacez un nombre pour supprimer l’intervalle. Pour obtenir cinq intervalles égaux, cliquez sur « Remplir les valeurs ».
layer-style-from = Début de l’intervalle { $number }
layer-style-from-color = Couleur de l’intervalle { $number }
layer-style-lowest = Intervalle le plus bas
layer-style-other = Couleur des autres valeurs
layer-style-other-label = Autres valeurs
layer-style-no-values = n’a pas de valeurs, ou trop de valeurs différentes
layer-style-no-numbers = n’a pas de nombres
layer-style-legend = Légende
layer-range-all = Tous les nombres
layer-range-below = Moins de { $end }
layer-range-between = De { $from } à moins de { $end }
layer-range-from = { $from } ou plus
layer-style-drawing = Dessin
layer-style-line-width = Largeur des lignes (pixels)
layer-style-point-size = Taille des points (pixels)
layer-style-size-hint = Taille au zoom 18 ; elle diminue quand on dézoome.
layer-style-opacity = Opacité (%)
layer-style-label = Libellé
layer-style-label-none = Sans libellé
layer-style-label-zoom = Libellés à partir du zoom
layer-style-visibility = Visibilité
layer-style-min-zoom = Visible à partir du zoom
layer-style-max-zoom = Visible jusqu’au zoom
layer-style-zoom-hint = 0 est le monde entier, 14 un village, 18 une rue.

## Documentation de l’API

docs-title = Documentation de l’API
docs-back = Ouvrir l’application
docs-document = Cette page est produite à partir du <a href="{ $path }">document OpenAPI 3.1</a>, lisible par une machine.
docs-authentication = Authentification
docs-token-variable = Les exemples lisent le jeton dans la variable <code>TOKEN</code> du shell :
docs-scope = Droit
docs-operations = Opérations
docs-errors = Erreurs
docs-errors-hint = Le corps de toute erreur est un objet JSON avec ces champs.
docs-main-api = API principale
docs-geo-api = API Geo
docs-requires-scope = Droit <code>{ $scope }</code>
docs-requires-token = N’importe quel jeton
docs-parameters = Paramètres
docs-parameter = Paramètre
docs-location = { $in ->
    [path] dans le chemin
    [query] dans la requête
   *[header] en-tête
  }
docs-body = Corps
docs-responses = Réponses
docs-example-request = Exemple
docs-field = Champ
docs-type = Type
docs-description = Description
docs-status = Statut
docs-required = obligatoire
docs-optional = facultatif
docs-values = Valeurs :
docs-range = Plage :
docs-length = Longueur :
docs-pattern = Motif :
docs-default = Par défaut :
docs-example = Exemple :
docs-headers = En-têtes :
docs-events = Événements des webhooks
docs-events-hint = Un point de terminaison reçoit ces événements par des requêtes POST.
docs-event = Événement
docs-event-headers = En-têtes d’un envoi
docs-event-responses = Réponses du destinataire
docs-schemas = Schémas

## Settings: base maps

base-maps-title = Fonds de carte
base-map-new = Ajouter un fond de carte
base-map-new-named = Ajouter { $name }
base-maps-empty = Aucun fond de carte pour l’instant. Les cartes affichent le fond de carte intégré : pays et mers. Ajoutez la carte d’un autre serveur, par exemple OpenStreetMap ou les photos aériennes de votre pays.
base-maps-note = Les membres choisissent un fond dans le panneau des couches de la carte. Leur navigateur le charge directement depuis ces serveurs, et seulement s’il est choisi.
base-map-column-name = Fond de carte
base-map-column-kind = Type
base-map-column-hosts = Serveurs
base-map-column-default = Par défaut
base-map-is-default = Par défaut
base-map-move-up = Monter { $name }
base-map-move-down = Descendre { $name }
base-map-edit-title = Modifier { $name }
base-map-delete-named = Supprimer { $name }
base-map-kind = { $kind ->
    [xyz] Tuiles (XYZ)
    [wmts] WMTS
    [wms] WMS
   *[style] Style MapLibre
}
base-map-kind-note = { $kind ->
    [xyz] Une URL avec le zoom, la colonne et la ligne d’une tuile
    [wmts] Un Web Map Tile Service en Web Mercator
    [wms] Un Web Map Service qui accepte EPSG:3857
   *[style] Un document de style avec des tuiles vectorielles ou matricielles
}
base-map-presets = Services en accès libre
base-map-kinds = Un autre service
base-map-preset = { $preset ->
    [openstreetmap] OpenStreetMap
    [ign-plan] Plan IGN
    [ign-aerial] Photos aériennes IGN
    [swisstopo-map] Carte swisstopo
    [swisstopo-aerial] Photos aériennes swisstopo
    [pdok-map] Carte PDOK
    [pdok-aerial] Photos aériennes PDOK
   *[ordnance-survey] Ordnance Survey
}
base-map-preset-note = { $preset ->
    [openstreetmap] Monde entier. Pour un usage modéré ; un grand cabinet devrait recourir à un fournisseur de tuiles.
    [ign-plan] France
    [ign-aerial] France
    [swisstopo-map] Suisse
    [swisstopo-aerial] Suisse
    [pdok-map] Pays-Bas
    [pdok-aerial] Pays-Bas
   *[ordnance-survey] Grande-Bretagne. Nécessite une clé de l’OS Data Hub.
}
base-map-new-title = { $kind ->
    [xyz] Ajouter des tuiles (XYZ)
    [wmts] Ajouter un WMTS
    [wms] Ajouter un WMS
   *[style] Ajouter un style MapLibre
}
base-map-form-note = Vérifiez que les conditions du service permettent votre usage. Les navigateurs des membres contactent directement le service lorsqu’ils affichent ce fond de carte.
base-map-url = URL
base-map-url-hint = { $kind ->
    [xyz] Avec {"{z}"}, {"{x}"} et {"{y}"}, ou {"{-y}"} si les lignes sont comptées depuis le sud. {"{s}"} désigne les serveurs a, b et c.
    [wmts] Avec {"{TileMatrix}"}, {"{TileRow}"} et {"{TileCol}"}. Remplacez les autres variables par leur valeur. Le jeu de matrices doit être en Web Mercator (EPSG:3857).
    [wms] L’adresse du service. Groma ajoute les paramètres d’une requête de carte.
   *[style] L’adresse du document de style.
}
base-map-key = Clé
base-map-key-hint = Remplace {"{key}"} dans l’URL. Les navigateurs envoient la clé : chaque membre peut donc la lire. Si le service le permet, limitez la clé à l’adresse de ce site.
base-map-layers = Couches
base-map-layers-hint = Les noms des couches, séparés par des virgules
base-map-styles = Styles
base-map-styles-hint = Un par couche, séparés par des virgules. Laissez vide pour les styles par défaut.
base-map-format = Format d’image
base-map-hosts = Autres serveurs
base-map-hosts-hint = Les serveurs dont le style charge les tuiles, les glyphes et les symboles, un par ligne, par exemple https://tiles.example.com. Les navigateurs bloquent tous les autres.
base-map-attribution = Source à citer
base-map-attribution-hint = Son nom apparaît sur la carte
base-map-attribution-url = Lien de la source
base-map-min-zoom = Zoom minimal
base-map-min-zoom-hint = En dessous, les cartes affichent le fond de carte intégré. Laissez vide pour 0.
base-map-max-zoom = Zoom maximal
base-map-max-zoom-hint = Au-delà, les images sont agrandies. Laissez vide pour 19.
base-map-tile-size = Taille des tuiles en pixels
base-map-default = Afficher par défaut
base-map-default-hint = Les cartes le chargent tant que le membre n’en choisit pas un autre.
base-map-saved = Fond de carte « { $name } » enregistré.
base-map-moved = Fond de carte « { $name } » déplacé.
base-map-deleted = Fond de carte « { $name } » supprimé.
base-map-delete = Supprimer le fond de carte
base-map-delete-text = Les membres qui ont choisi ce fond verront le fond par défaut.
base-map-server = Carte de ce serveur

## Scripts: messages and dialogs

script-close = Fermer
script-dismiss = Fermer
script-copied = Copié
script-copy-manually = Appuyez sur Ctrl+C
script-passkey-cancelled = Aucune clé d’accès n’a été utilisée. Réessayez ou choisissez un autre moyen.
script-request-failed-reload = La requête a échoué (code { $status }). Réessayez, ou rechargez la page.
script-server-unreachable = Le serveur est injoignable. Vérifiez votre connexion et réessayez.
script-search-place = Lieu sur la carte

## Scripts: keyboard shortcuts

script-shortcuts-title = Raccourcis clavier
script-shortcut-search = Rechercher
script-shortcut-new = Créer
script-shortcut-edit = Modifier
script-shortcut-table = Tableau de la carte
script-shortcut-next-row = Ligne suivante
script-shortcut-previous-row = Ligne précédente
script-shortcut-open-row = Ouvrir la ligne
script-shortcut-dashboard = Tableau de bord
script-shortcut-folders = Dossiers
script-shortcut-assignments = Tâches
script-shortcut-expenses = Dépenses
script-shortcut-budgets = Budgets
script-shortcut-map = Carte
script-shortcut-settings = Paramètres
script-shortcut-help = Afficher les raccourcis
script-key-enter = Entrée
script-key-escape = Échap

## Scripts: times

script-time-now = à l’instant
script-time-soon = dans quelques secondes
script-draft-restored = Votre saisie a été conservée. Vérifiez-la et enregistrez.
script-time-minutes-ago = il y a { $minutes } min
script-time-in-minutes = dans { $minutes } min
script-time-hours-ago = il y a { $hours } h
script-time-in-hours = dans { $hours } h
script-time-yesterday = hier
script-time-tomorrow = demain
script-time-days-ago = { $days ->
    [one] il y a { $days } jour
   *[other] il y a { $days } jours
}
script-time-in-days = { $days ->
    [one] dans { $days } jour
   *[other] dans { $days } jours
}
script-date-short = { $day ->
    [1] 1er
   *[other] { $day }
} { $month }
script-date-with-year = { $day ->
    [1] 1er
   *[other] { $day }
} { $month } { $year }
script-month = { $month ->
    [1] janv.
    [2] févr.
    [3] mars
    [4] avr.
    [5] mai
    [6] juin
    [7] juil.
    [8] août
    [9] sept.
    [10] oct.
    [11] nov.
   *[12] déc.
}

## Scripts: map

script-map-title = Carte
script-map-show = Afficher la carte
script-map-load-failed = La carte n’a pas pu être chargée. Rechargez la page pour réessayer.
script-map-needs-webgl = La carte a besoin de WebGL, que ce navigateur ne prend pas en charge ou a désactivé. Tout le reste fonctionne sans.
script-map-request-failed = La requête a échoué (code { $status }).
script-map-session-expired = Votre session a expiré. Reconnectez-vous.
script-map-unexpected-response = Le serveur a envoyé une réponse inattendue (code { $status }).
script-map-coordinates = Coordonnées
script-map-toggle-attribution = Afficher ou masquer les sources
script-map-find-location = Afficher ma position
script-map-location-unavailable = Position non disponible
script-map-zoom-in = Zoom avant
script-map-zoom-out = Zoom arrière
script-map-scroll-hint = Ctrl + molette pour zoomer sur la carte
script-map-scroll-hint-mac = ⌘ + molette pour zoomer sur la carte
script-map-scroll-hint-touch = Utilisez deux doigts pour déplacer la carte

## Scripts: layers of the map

script-map-layer = Couche
script-map-layers = Couches
script-map-layers-empty = Aucune couche pour l’instant. Dessinez un objet, ou importez un fichier.
script-map-layer-new-submissions = Submissions (nouvelle couche)
script-map-layer-opacity = Opacité de la couche { $name }
script-map-layer-opacity-label = Opacité
script-map-layer-zoom-to = Zoomer sur la couche { $name }
script-map-layer-menu = Options de { $name }
script-map-layer-locked = Verrouillée
script-map-layer-locked-hint = Cette couche est verrouillée. Un administrateur peut la déverrouiller dans les paramètres.
script-map-layer-hidden-here = Non visible à ce zoom
script-map-layer-style = Style
script-map-layer-check = Vérifier les objets
script-map-export = Exporter
script-map-export-format = Format
script-map-export-crs = Système de référence
script-map-export-download = Télécharger
script-map-legend-other = Autres valeurs
script-map-legend-all = Tous les nombres
script-map-legend-below = Moins de { $end }
script-map-legend-between = De { $from } à moins de { $end }
script-map-legend-from = { $from } ou plus

## Scripts: base maps

script-map-base = Fond de carte
script-map-base-built-in = Fond de carte intégré
script-map-base-add = Ajouter un fond de carte
script-map-base-failed = Le fond de carte « { $name } » n’a pas pu être chargé.
script-map-sea = { $sea ->
    [north-atlantic] Océan Atlantique Nord
    [south-atlantic] Océan Atlantique Sud
    [north-pacific] Océan Pacifique Nord
    [south-pacific] Océan Pacifique Sud
    [indian] Océan Indien
    [arctic] Océan Arctique
    [southern] Océan Austral
    [mediterranean] Mer Méditerranée
    [caribbean] Mer des Caraïbes
    [gulf-of-mexico] Golfe du Mexique
    [arabian] Mer d’Arabie
    [bay-of-bengal] Golfe du Bengale
    [south-china] Mer de Chine méridionale
    [east-china] Mer de Chine orientale
    [japan] Mer du Japon
    [okhotsk] Mer d’Okhotsk
    [bering] Mer de Béring
    [coral] Mer de Corail
    [tasman] Mer de Tasman
    [philippine] Mer des Philippines
    [hudson-bay] Baie d’Hudson
    [gulf-of-alaska] Golfe d’Alaska
    [norwegian] Mer de Norvège
    [greenland] Mer du Groenland
    [barents] Mer de Barents
    [kara] Mer de Kara
    [labrador] Mer du Labrador
    [baffin-bay] Baie de Baffin
    [north] Mer du Nord
    [baltic] Mer Baltique
    [gulf-of-bothnia] Golfe de Botnie
    [black] Mer Noire
    [caspian] Mer Caspienne
    [red] Mer Rouge
    [persian-gulf] Golfe Persique
    [gulf-of-aden] Golfe d’Aden
    [gulf-of-guinea] Golfe de Guinée
    [bay-of-biscay] Golfe de Gascogne
    [english-channel] Manche
    [irish] Mer d’Irlande
    [celtic] Mer Celtique
    [tyrrhenian] Mer Tyrrhénienne
    [ligurian] Mer Ligure
    [adriatic] Mer Adriatique
    [ionian] Mer Ionienne
    [aegean] Mer Égée
    [sargasso] Mer des Sargasses
    [java] Mer de Java
    [timor] Mer de Timor
    [great-australian-bight] Grande Baie australienne
    [mozambique-channel] Canal du Mozambique
    [yellow] Mer Jaune
    [gulf-of-thailand] Golfe de Thaïlande
    [andaman] Mer d’Andaman
    [weddell] Mer de Weddell
    [ross] Mer de Ross
   *[gulf-of-st-lawrence] Golfe du Saint-Laurent
}

## Scripts: table of a layer's shapes

script-map-table = Tableau des objets
script-map-table-of = Tableau : { $name }
script-map-table-filter = Filtrer
script-map-table-column = Colonne
script-map-table-any-column = Toutes les colonnes
script-map-table-comparison = Comparaison
script-map-table-contains = contient
script-map-table-equal = est
script-map-table-at-least = au moins
script-map-table-at-most = au plus
script-map-table-in-view = Seulement sur la carte
script-map-table-close = Fermer le tableau

## Scripts: selected feature or folder

script-map-size = Dimensions
script-map-updated = Mise à jour
script-map-folder-open = Ouvrir le dossier
script-map-edit = Modifier
script-map-delete = Supprimer
script-map-shape-delete = Supprimer l’objet
script-map-shape-deleted = Objet supprimé.
script-map-shape-not-editable = Les collections et les objets avec des altitudes ne peuvent pas être modifiés ici. Modifiez l’objet dans un SIG et envoyez-le à nouveau.
script-map-edit-attributes = Modifier les attributs
script-map-split = Diviser
script-map-split-hint = Tracez une ligne à travers l’objet, d’un bord extérieur à l’autre, puis choisissez Terminer.
script-map-split-impossible = La ligne doit traverser l’objet d’un côté à l’autre.
script-map-split-text = L’objet est divisé en { $count } parties. La plus grande garde son historique ; les autres sont de nouveaux objets avec les mêmes attributs, le même dossier et la même couche.
script-map-split-done = Objet divisé en { $count } parties.
script-map-join = Réunir avec…
script-map-join-title = Réunir des objets
script-map-join-hint = Cliquez sur l’objet à réunir.
script-map-join-keys = Au clavier : déplacez la carte avec les flèches, puis appuyez sur Entrée.
script-map-join-impossible = Les objets n’ont ni bord ni extrémité en commun.
script-map-join-text = Le premier objet garde ses attributs et s’agrandit. Le second est supprimé.
script-map-join-named = « { $kept } » garde ses attributs et s’agrandit. « { $deleted } » est supprimé.
script-map-join-confirm = Réunir
script-map-join-done = Objets réunis.
# The position of the shown feature among those at the same place.
script-map-stepper-position = { $index } sur { $count } à cet endroit
script-map-stepper-next = Suivant
script-map-shape-count = { $count ->
    [one] { $count } objet
   *[other] { $count } objets
}

## Scripts: drawing

script-map-draw = Dessiner
script-map-draw-toolbar = Outils de dessin
script-map-draw-point = Point
script-map-draw-line = Ligne
script-map-draw-area = Surface
script-map-draw-add-here = Ajouter un point ici
script-map-draw-finish = Terminer
script-map-draw-point-hint = Cliquez sur la carte pour placer le point.
script-map-draw-line-hint = Cliquez sur chaque point. Double-cliquez sur le dernier pour terminer.
script-map-draw-area-hint = Cliquez sur chaque sommet. Cliquez à nouveau sur le premier pour terminer.
script-map-draw-point-keys = Au clavier : déplacez la carte avec les flèches, puis appuyez sur Espace.
script-map-draw-keys = Au clavier : déplacez la carte avec les flèches. Appuyez sur Espace pour ajouter un point, sur Retour arrière pour retirer le dernier, sur Entrée pour terminer, sur Échap pour recommencer.
script-map-draw-edit-hint = Faites glisser un sommet pour le déplacer. Faites glisser le point entre deux sommets pour en ajouter un. Cliquez avec le bouton droit sur un sommet, ou utilisez le tableau, pour le supprimer.
script-map-snap = Accrochage
script-map-undo = Défaire
script-map-redo = Refaire
script-map-cancel = Annuler
script-map-done = Terminer

## Scripts: measuring

script-map-measure = Mesurer
script-map-measure-length = Longueur
script-map-measure-area = Surface
script-map-measure-again = Mesurer à nouveau
script-map-measured-hint = Faites glisser un sommet pour ajuster la mesure. Rien n’est enregistré.

## Scripts: typed vertices

script-map-typed-title = Saisir des valeurs
script-map-length-in-meters = Longueur (m)
script-map-typed-bearing = Gisement (° ou gon)
script-map-typed-coordinate = Latitude, longitude
script-map-typed-add = Ajouter
script-map-typed-no-start = Ajoutez un premier point avant de saisir une longueur.
script-map-typed-length-invalid = La longueur doit être un nombre de mètres, par exemple 12,50.
script-map-typed-bearing-invalid = Le gisement doit être un nombre de degrés depuis le nord, dans le sens des aiguilles d’une montre, par exemple 87,5.
script-map-coordinate-invalid = Saisissez la latitude et la longitude, par exemple 48.85, 2.35 ou 48°51'24" N 2°21'3" E.

## Scripts: table of vertices

script-map-vertex-table = Sommets
script-map-vertex-count = { $count ->
    [one] { $count } sommet
   *[other] { $count } sommets
}
script-map-vertex-limit = Seuls les { $count } premiers sommets sont affichés.
script-map-vertex-number = N°
script-map-latitude = Latitude
script-map-longitude = Longitude
script-map-vertex-part = Partie { $part }
script-map-vertex-hole = Partie { $part }, trou { $hole }
script-map-vertex-latitude = Latitude du sommet { $number }
script-map-vertex-longitude = Longitude du sommet { $number }
script-map-vertex-remove = Supprimer le sommet { $number }

## Scripts: saving a shape

script-map-shape-new = Nouvel objet
script-map-shape-edit = Enregistrer les modifications
script-map-shape-saved = Objet enregistré.
script-map-folder = Dossier
script-map-folders = Dossiers
script-map-folder-placeholder = Référence ou nom
script-map-folder-no-match = Aucun dossier correspondant
script-map-folder-not-selected = Choisissez un dossier dans la liste, ou laissez le champ vide.
script-map-name = Nom
script-map-optional = (facultatif)
script-map-save = Enregistrer
script-map-save-anyway = Enregistrer quand même
script-map-discard = Abandonner
script-map-crossings = { $count ->
    [one] L’objet se croise à l’endroit marqué. Sa surface n’est pas bien définie.
   *[other] L’objet se croise à { $count } endroits marqués. Sa surface n’est pas bien définie.
}
script-map-repair = Réparer
script-map-repair-empty = L’objet n’a pas de surface et ne peut pas être réparé. Dessinez-le à nouveau.
script-map-attributes = Attributs
script-map-attributes-saved = Attributs enregistrés.
script-map-attribute-add = Ajouter un attribut
script-map-attribute-name = Nom de l’attribut
script-map-attribute-value-placeholder = Valeur
script-map-attribute-type = Type de l’attribut
script-map-attribute-value = Valeur de l’attribut
script-map-attribute-text = Texte
script-map-attribute-number = Nombre
script-map-attribute-boolean = Oui ou non
script-map-attribute-yes = Oui
script-map-attribute-no = Non
script-map-attribute-remove = Supprimer l’attribut { $name }
script-map-attribute-no-name = Saisissez un nom pour l’attribut.
script-map-attribute-duplicate = Il y a déjà un attribut « { $name } ».
script-map-attribute-no-number = « { $name } » doit être un nombre, par exemple 12,50.
script-map-attribute-required = { $name } est obligatoire.
script-map-attribute-whole-number = { $name } doit être un nombre entier.
script-map-attribute-choose = Choisir
script-map-attribute-others = Autres attributs

## Scripts: going to a place

script-map-go-to = Aller à
script-map-go-to-placeholder = Coordonnée, dossier, objet
script-map-go-to-places = Lieux
script-map-go-to-no-match = Aucun résultat
script-map-go-to-no-shapes = Le dossier { $reference } n’a aucun objet sur la carte.

## Scripts: sizes and coordinates

script-map-unit-m = { $value } m
script-map-unit-km = { $value } km
script-map-unit-m2 = { $value } m²
script-map-unit-ha = { $value } ha
script-map-unit-km2 = { $value } km²
script-map-latitude-north = { $value } N
script-map-latitude-south = { $value } S
script-map-longitude-east = { $value } E
script-map-longitude-west = { $value } O
script-map-area-and-perimeter = { $area }, périmètre { $perimeter }

# Pages de l’API OGC.
ogc-collections = Collections
ogc-conformance = Conformité
ogc-items = Objets
ogc-count = { $count ->
    [one] { $count } objet
   *[other] { $count } objets
}
ogc-map = Carte des objets
ogc-name = Nom
ogc-value = Valeur
ogc-title = Titre
ogc-id = Identifiant
ogc-description = Description
ogc-empty = Il n’y a encore rien ici.
ogc-next = Page suivante
ogc-large-geometry = Les grandes formes ne sont pas dessinées. Pour les lire, ouvrez le JSON.
ogc-too-large = C’est trop volumineux pour une page. Ouvrez plutôt le JSON.
ogc-links = Liens

## Imports of files

import = Importer
imports-title = Importations
imports-recent = Importations récentes
imports-empty = Aucune importation ces sept derniers jours. Vous pouvez aussi déposer des fichiers sur les listes, sur la carte et sur ses couches.
imports-retention = Les importations terminées restent affichées sept jours.
import-title = Importation de { $file }
import-into = Importer dans
import-into-new-layer = Une nouvelle couche
import-into-layer = Couche { $name }
import-file = Fichiers
import-file-hint = GeoJSON, GeoPackage, Shapefile (une archive zip ou tous ses fichiers), FlatGeobuf, CSV, KML, GPX et DXF pour les couches ; CSV, Excel (XLSX), JSON et NDJSON pour les données. Rien ne change avant que vous ayez vu un aperçu.
import-upload = Envoyer et vérifier
import-column-file = Fichier
import-column-state = État
import-column-who = Importé par
import-column-created = Reçu
import-state-checking = Vérification
import-state-ready = Prêt à importer
import-state-incomplete = Pas prêt
import-state-running = Importation en cours
import-state-done = Importé
import-state-failed = Échec
import-state-cancelled = Annulé
import-state-interrupted = Interrompu
import-step-checking = Vérification du fichier :
import-step-comparing = Comparaison avec la couche :
import-step-reading = Lecture du fichier :
import-step-writing = Importation :
import-step-publishing = Enregistrement de l’ensemble…
import-features = { $count ->
    [one] { $count } objet
   *[other] { $count } objets
}
import-rows = { $count ->
    [one] { $count } ligne
   *[other] { $count } lignes
}
import-goes-on = Vous pouvez fermer cette page : l’importation continue.
import-cancel = Annuler l’importation
import-created = Créés : { $count }
import-updated = Modifiés : { $count }
import-unchanged = Inchangés : { $count }
import-deleted = Supprimés : { $count }
import-left-out = Non importés, car refusés : { $count }
import-nothing = Rien n’a été importé.
import-interrupted-text = Le serveur qui détenait le fichier a été arrêté. Rien n’a été importé. Envoyez à nouveau le fichier.
import-expired = L’importation n’a pas été lancée dans les deux heures ; le fichier a été supprimé.
import-failed = Le serveur a rencontré une erreur. Réessayez.
import-data-changed = Le fichier ou les données ont changé depuis la vérification. Envoyez à nouveau le fichier.
import-repeated-field = Plusieurs champs reçoivent le nom « { $name } ». Donnez à chacun un autre nom, ou ne l’importez pas.
import-needs-target = Choisissez où importer le fichier.
import-row-changed = La ligne { $line } n’est plus valable : { $reason } Envoyez à nouveau le fichier.
import-options-changed = Les options ont changé. Consultez le nouvel aperçu, puis lancez l’importation.
import-too-many-rows = Le fichier a plus de { $max } lignes. Divisez-le ou utilisez la commande groma import.
import-show-list = Afficher { $kind }
import-show-map = Afficher sur la carte
import-another = Importer un autre fichier
import-preview = Modifications
import-count-created = à créer
import-count-updated = à modifier
import-count-unchanged = inchangés
import-count-deleted = à supprimer
import-count-rejected = refusés
import-deletes = Cette importation supprime les objets de la couche qui ne sont pas dans le fichier.
import-empty = Le fichier ne contient rien à importer.
import-choose-layer = Le fichier a plusieurs couches. Choisissez-en une.
import-choose-geometry = Aucune colonne n’est reconnue comme géométrie. Choisissez les colonnes des coordonnées ou celle qui contient du WKT.
import-choose-crs = Le fichier n’indique pas son système de référence. Choisissez-le pour que les objets soient bien placés.
import-unknown-crs = Le système de référence du fichier ne peut pas être utilisé : { $reason }. Choisissez-en un autre.
import-choose-columns = Ces colonnes ne sont pas des champs des données : { $columns }. Choisissez le champ de chacune ou ne l’importez pas.
import-rejected-title = Refusés
import-rejected-download = Télécharger les lignes refusées
import-rejected-file = refusés
import-rejected-feature = objet
import-rejected-line = ligne
import-rejected-reason = motif
import-more-rejected = { $count ->
    [one] Un autre est dans le téléchargement.
   *[other] { $count } autres sont dans le téléchargement.
}
import-notices = Avertissements
import-quality = Qualité
import-quality-unknown = Les chevauchements, les vides, les doublons et les pointes ne sont pas recherchés dans les fichiers de plus de 100 000 objets. Vérifiez la couche dans les réglages après l’importation.
import-quality-hint = Ces problèmes n’empêchent pas l’importation. Vérifiez la couche dans les réglages pour en réparer certains.
import-place-features = { $count ->
    [one] Objet { $numbers }
   *[other] Objets { $numbers }
}
import-show-place = Afficher sur la carte
import-place-feature = Objet { $number }
import-place-feature-line = Objet { $number }, ligne { $line }
import-place-line = Ligne { $number }
import-options = Options
import-layer-name = Nom de la couche
import-source-layer = Couche du fichier
import-sheet = Feuille
import-x-column = Colonne de x ou longitude
import-y-column = Colonne de y ou latitude
import-wkt-column = Colonne WKT
import-wkt-column-hint = Ou WKB. Si vous choisissez une colonne ici, x et y ne sont pas utilisés.
import-column-none = Aucune
import-choose = Choisir…
import-mode = Objets de la couche
import-mode-add-and-update = Ajouter les nouveaux et modifier ceux du fichier
import-mode-replace = Tout remplacer : supprimer ceux qui ne sont pas dans le fichier
import-mode-add-only = Seulement ajouter les nouveaux
import-id-own = Identifiant de l’objet
import-id-of-file = Les identifiants du fichier
import-id-field = Reconnaître les objets par
import-new-id-field = Prendre les identifiants des objets dans
import-crs = Système de référence du fichier
import-crs-used = Système de référence du fichier : { $name }
import-crs-hint = Un code EPSG. Laissez vide pour utiliser celui que le fichier indique.
import-crs-candidates = Où seraient les objets
import-folder = Dossier des objets
import-keep-crs = Conserver le système de référence et les coordonnées exactes du fichier
import-keep-good = Importer les valides même si d’autres sont refusés
import-blocked = Corrigez le fichier ou choisissez d’importer les valides.
import-field-source = Dans le fichier
import-field-samples = Exemples
import-field-becomes = Devient
import-field-left-out = Ne pas importer
import-field-named = Ce que devient { $field }
import-extent = De { $west }, { $south } à { $east }, { $north }
import-check = Vérifier à nouveau
import-start = Importer
error-import-ended = Cette importation est terminée ou a changé. Rechargez sa page.
error-too-many-imports = Vous avez déjà cinq importations en cours. Lancez ou annulez d’abord l’une d’elles.
error-import-new-layer = Seuls les administrateurs peuvent créer des couches. Choisissez une couche.
error-import-no-file = Choisissez un fichier.
error-import-files = Envoyez un seul fichier, ou tous les fichiers d’un Shapefile.
error-too-many-uploads = Trop de fichiers sont en cours de réception. Attendez que l’un soit arrivé, puis réessayez.
script-import-drop = Déposez le fichier pour l’importer
script-import-drop-into = Déposez le fichier pour l’importer dans { $name }
script-import-sending = Envoi de { $name }
script-import-stop = Arrêter
script-import-close = Fermer
script-import-failed = Le fichier n’a pas pu être envoyé. Réessayez.
script-map-import = Importer
script-map-import-file = Importer un fichier

## Reasons of rejected files and geometries. In English, each is the template of a message in the code.

reason-untranslated = { $text }
reason-with-hint = { $problem } ; { $hint }
reason-and = { $one } et { $other }
reason-or = { $one } ou { $other }

## Reference systems

reason-crs-name = « { $name } » n’est pas un système de référence ; utilisez un code EPSG, par exemple EPSG:2154
reason-crs-unsupported = EPSG:{ $code } n’est pas pris en charge : { $reason }
reason-crs-deprecated = le code est obsolète
reason-crs-deprecated-for = le code est obsolète ; utilisez EPSG:{ $code }
reason-crs-3d = il est tridimensionnel
reason-crs-3d-of = il est tridimensionnel ; utilisez EPSG:{ $code }
reason-crs-compound = il comprend des altitudes ; utilisez sa partie horizontale, EPSG:{ $code }
reason-crs-vertical = il ne décrit que des altitudes
reason-crs-geocentric = ses coordonnées sont géocentriques
reason-crs-derived = il est dérivé d’un autre système par une méthode particulière
reason-crs-no-operation = aucune transformation vers WGS 84 n’est publiée
reason-crs-other-grid = ses transformations vers WGS 84 exigent des grilles dans un autre format que NTv2
reason-crs-grid = il lui faut le fichier de grille { $files } dans le dossier geo.grids
reason-crs-projection = sa projection ({ $projection }) n’est pas prise en charge
reason-crs-method = sa transformation vers WGS 84 ({ $method }) n’est pas prise en charge
reason-crs-inaccurate = le résultat s’écarterait de celui de PROJ de plus de 1 cm
reason-crs-unknown = le code n’est pas dans le registre EPSG
reason-crs-outside = est hors de la zone où { $crs } est utilisable
reason-crs-position-outside = a un point hors de la zone où { $crs } est utilisable
reason-crs-outside-area-of-use = est hors de la zone d’utilisation de { $crs }
reason-crs-swapped-north-first = ses axes semblent inversés : le nord vient en premier
reason-crs-swapped-east-first = ses axes semblent inversés : x (l’est) vient en premier
reason-crs-longitude = une longitude doit être comprise entre -{ $limit } et { $limit } degrés
reason-crs-latitude = une latitude doit être comprise entre -90 et 90 degrés
reason-crs-member-hint = si les coordonnées ne sont pas en WGS 84, indiquez leur système de référence dans « crs »
reason-crs-not-of-request = doit indiquer { $crs }, le système de la requête
reason-crs-not-outermost = doit être un membre de l’objet racine
reason-crs-too-late = indique { $crs } alors que « features » a été lu en { $other } ; placez « crs » avant « features »
reason-crs-type = doit être « name » ; aucun autre type de « crs » n’est pris en charge

## What looks wrong in a geometry

reason-no-length = n’a pas de longueur
reason-no-area = n’a pas de surface
reason-self-intersection = se croise ou se touche ici
reason-hole-outside = est un trou hors de son polygone
reason-spike = a une pointe
reason-repeated-position = répète le point précédent
reason-repeated-positions = répète le point précédent ({ $count } points répétés dans cette ligne)
reason-measures-dropped = les valeurs M n’ont pas été reprises
reason-binary-dropped = les valeurs binaires n’ont pas été reprises

## Geometries

reason-line-too-short = une ligne doit avoir au moins deux points
reason-ring-too-short = un anneau doit avoir au moins quatre points
reason-ring-not-closed = un anneau doit être fermé : son dernier point doit être égal au premier
reason-no-outer-ring = un polygone doit avoir un anneau extérieur
reason-position-too-short = un point doit avoir au moins deux nombres
reason-coordinate-too-large = est trop grand pour une coordonnée
reason-coordinate-invalid = a une coordonnée infinie ou trop grande
reason-too-many-positions = dépasse la limite de { $limit } points par objet
reason-too-many-rings = dépasse la limite de { $limit } anneaux par objet
reason-too-many-geometries = dépasse la limite de { $limit } géométries par objet
reason-collections-too-deep = les GeometryCollection peuvent être imbriquées sur { $limit } niveaux au plus
reason-geometry-type = doit être un { $name } ou un Multi{ $name }, le type de géométrie de la couche ; c’est un { $kind }
reason-joined-same = doit être une autre géométrie de la couche

## Features

reason-unreadable = est illisible
reason-repeated-id = « { $id } » est déjà l’identifiant d’un objet précédent
reason-repeated-field = « { $id } » est déjà la valeur du champ { $field } d’un objet précédent
reason-no-id-value = n’a pas de valeur pour le champ « { $field } », qui l’identifie
reason-named-twice = désigne l’objet { $id } une deuxième fois
reason-too-many-keys = a plus de { $limit } clés
reason-properties-too-large = « properties » dépasse la limite de { $limit } Mio par objet
reason-not-in-workspace = n’existe pas dans cet espace de travail
reason-folder-moved = a changé de dossier pendant l’importation
reason-layer-expired = a été supprimée, car l’importation s’était interrompue plus de dix minutes

## GeoJSON

reason-empty = ne doit pas être vide
reason-empty-geometry = ne doit pas être vide ; pour une géométrie absente, mettez « geometry » à null
reason-not-number = doit être un nombre
reason-not-array = doit être un tableau
reason-not-string = doit être un texte
reason-not-string-or-number = doit être un texte ou un nombre
reason-not-object = doit être un objet JSON
reason-not-object-or-null = doit être un objet JSON ou null
reason-not-geojson = doit être un objet GeoJSON
reason-not-feature = doit être une Feature
reason-not-type-feature = doit être Feature
reason-bare-geometry = doit être Feature ; placez la géométrie seule dans une Feature
reason-nested-collection = une FeatureCollection ne peut pas en contenir une autre
reason-not-geometry-type = doit être un type de géométrie
reason-not-geometry = doit être une géométrie
reason-not-geometry-or-null = doit être une géométrie ou null
reason-unknown-type = « { $name } » n’est pas un type GeoJSON
reason-member-not-allowed = « { $name } » n’est pas permis dans cet objet
reason-member-of-other-type = un objet de ce type ne peut pas avoir le membre « { $name } »
reason-member-missing = il manque « { $name } »
reason-member-missing-nullable = il manque « { $name } », qui peut être null
reason-member-repeated = ne doit pas figurer deux fois dans le même objet
reason-too-many-members = dépasse la limite de { $limit } membres par objet
reason-bbox = doit avoir quatre ou six nombres
reason-too-long = doit avoir au plus { $max } caractères
reason-control-characters = ne doit pas contenir de caractères de contrôle

## JSON

reason-json-arrays-too-deep = des tableaux sont trop imbriqués
reason-json-trailing = du contenu inattendu suit la fin du texte JSON
reason-json-second = un deuxième texte JSON suit le premier ; placez plusieurs objets dans une FeatureCollection
reason-json-not-finite = NaN et Infinity ne sont pas du JSON valide
reason-json-value = une valeur
reason-json-key = une clé entre guillemets doubles
reason-json-expected = attendu : { $expected } ; trouvé : « { $found } »
reason-json-expected-byte = attendu : { $expected } ; trouvé : l’octet { $found }
reason-json-too-deep = est imbriqué sur plus de { $limit } niveaux
reason-json-not-value = n’est pas une valeur JSON valide
reason-json-not-number = n’est pas un nombre JSON valide
reason-json-number-out-of-range = est un nombre hors de l’intervalle pris en charge
reason-json-number-too-long = un nombre doit avoir au plus { $max } caractères
reason-json-truncated = le texte se termine de façon inattendue
reason-json-not-utf-8 = n’est pas de l’UTF-8 valide
reason-json-repeated-key = contient deux fois la clé « { $key } » dans un objet
reason-json-object-too-large = contient un objet de plus de { $limit } membres
reason-json-string-too-long = est trop long
reason-json-null-character = contient le caractère \u0000, qui ne peut pas être enregistré
reason-json-surrogate = contient un caractère de substitution isolé
reason-json-control-character = contient un caractère de contrôle non échappé
reason-json-escape = contient une séquence d’échappement non valide
reason-json-unicode-escape = contient une séquence \u sans quatre chiffres hexadécimaux

## Files

reason-format-unknown = format inconnu ; { $hint }
reason-format-hint = formats pris en charge : { $names } ; convertissez le fichier avec « ogr2ogr -f GPKG out.gpkg { $file } »
reason-format-option = format inconnu ; donnez à --format l’une de ces valeurs : { $names }
reason-file-empty = le fichier est vide
reason-file-utf-16 = le fichier est en UTF-16 ; enregistrez-le au format CSV UTF-8
reason-file-truncated = le fichier est tronqué
reason-file-truncated-at = le fichier est tronqué : il a { $count } objets sur { $expected }
reason-file-no-crs = le fichier n’indique pas son système de référence
reason-file-crs-hint = indiquez le système de référence avec --crs, par exemple --crs EPSG:2154
reason-file-crs-invalid = le système de référence du fichier n’est pas du WKT valide
reason-file-crs-unknown = le système de référence « { $name } » du fichier est inconnu
reason-file-one-layer = un fichier GeoJSON n’a qu’une couche
reason-file-no-layer = le fichier ne contient aucune couche
reason-file-several-layers = le fichier contient plusieurs couches ; choisissez-en une avec --source-layer : { $names }
reason-file-unknown-layer = la couche « { $name } » n’est pas dans le fichier, qui contient { $names }
reason-file-unknown-field = il n’y a pas de champ « { $field } » ; les champs sont { $names }
reason-file-too-many-layers = le fichier a plus de { $limit } couches
reason-file-too-many-columns = le fichier a plus de { $limit } colonnes
reason-file-part-too-large = une partie de { $size } octets dépasse la limite de { $limit }
reason-layer-too-many-columns = la couche « { $name } » a plus de { $limit } colonnes
reason-geometries-too-deep = des géométries sont trop imbriquées
reason-nested-collections-too-deep = des collections sont trop imbriquées
reason-geometry-unsupported = les géométries de type { $name } ne sont pas prises en charge ; convertissez le fichier avec « ogr2ogr -nlt CONVERT_TO_LINEAR »
reason-geometry-curves = la géométrie a des courbes ; convertissez le fichier avec « ogr2ogr -nlt CONVERT_TO_LINEAR »
reason-not-utf-8 = « { $name } » n’est pas en UTF-8
reason-value-not-number = « { $name } » n’est pas un nombre

## Archives

reason-archive-invalid = l’archive est illisible : { $error }
reason-archive-error = archive : { $error }
reason-archive-too-many-files = l’archive a plus de { $limit } fichiers
reason-archive-path = l’archive contient un chemin qui mène hors d’elle
reason-archive-too-large = décompressée, l’archive fait plus de { $limit } fois sa taille
reason-archive-nested = l’archive contient une autre archive ; décompressez-la d’abord
reason-archive-no-shapefile = l’archive ne contient aucun Shapefile (.shp)
reason-archive-no-kml = l’archive ne contient aucun document KML
reason-archive-too-many-kml = l’archive contient plus de { $limit } documents KML
reason-folder-no-shapefile = le dossier ne contient aucun Shapefile (.shp)

## WKB and WKT

reason-wkb-truncated = la géométrie est tronquée
reason-wkb-trailing = la géométrie est suivie d’octets inattendus
reason-wkb-type = la géométrie contient le type inattendu { $code }
reason-wkb-srid = la géométrie a le SRID { $code } au lieu de 4326
reason-wkb-not-finite = la géométrie a une coordonnée infinie
reason-wkb-too-deep = la géométrie a des collections trop imbriquées
reason-wkb-invalid = la géométrie n’est pas du WKB valide
reason-wkb-invalid-because = la géométrie n’est pas du WKB valide : { $error }
reason-wkt-invalid = la géométrie n’est pas du WKT valide

## XML, GPX and KML

reason-xml-invalid = XML non valide : { $error }
reason-xml-invalid-at = XML non valide à l’octet { $position } : { $error }
reason-xml-too-deep = des éléments sont imbriqués sur plus de { $limit } niveaux
reason-xml-entity = l’entité « { $name } » est inconnue
reason-xml-doctype = les définitions de type de document et les entités ne sont pas acceptées
reason-xml-too-many-nodes = un élément a plus de { $limit } éléments et attributs
reason-xml-element-too-large = un élément fait plus de { $limit } Mio
reason-gpx-invalid = le fichier n’est pas du GPX
reason-gpx-missing = il manque « { $name } » à un point
reason-gpx-not-number = « { $name } » d’un point n’est pas un nombre
reason-kml-invalid = le fichier n’est pas du KML
reason-kml-coordinates = les coordonnées ne sont pas valides

## Shapefile

reason-shp-invalid = le .shp n’est pas valide
reason-shp-truncated = le .shp est tronqué à l’objet { $number }
reason-shp-fewer-shapes = le .shp est tronqué : le .dbf a { $count } lignes de plus
reason-shp-shape-too-large = l’objet { $number } dépasse la limite de { $limit } octets
reason-shp-shape-invalid = l’objet n’est pas valide
reason-shp-shape-type = les objets de type { $code } ne sont pas pris en charge
reason-shp-rings-overlap = trop d’anneaux se chevauchent ; réparez le polygone, ou divisez-le en plusieurs objets
reason-dbf-invalid = le .dbf n’est pas valide
reason-dbf-truncated = le .dbf annonce { $count } lignes, mais en contient { $available }
reason-dbf-too-many-fields = le .dbf a plus de { $limit } champs
reason-dbf-fewer-rows = le .dbf a moins de lignes que le .shp n’a d’objets
reason-dbf-encoding = « { $name } » n’est pas dans l’encodage du .dbf ; corrigez le fichier .cpg

## Tables

reason-columns-no-geometry = aucune colonne n’a de géométrie ; nommez les colonnes lon et lat, x et y, ou wkt, ou choisissez-les avec --x-column et --y-column, ou --wkt-column
reason-columns-too-large = les noms des colonnes font plus de { $limit } Mio
reason-columns-same = x et y doivent être dans des colonnes différentes
reason-columns-only-csv = seul un fichier CSV a des colonnes de coordonnées ou de WKT
reason-column-unknown = il n’y a pas de colonne « { $name } »
reason-column-repeated = la colonne « { $name } » figure deux fois
reason-row-width = a { $count } cellules, mais l’en-tête en a { $expected }
reason-row-mixed-encoding = n’est pas en UTF-8 comme d’autres lignes : le fichier mélange les encodages
reason-row-one-coordinate = n’a qu’une coordonnée
reason-row-not-coordinate = « { $cell } » n’est pas une coordonnée
reason-row-too-wide = une ligne a plus de { $limit } cellules
reason-row-too-large = une ligne fait plus de { $limit } Mio
reason-row-not-object = n’est pas un objet JSON
reason-row-too-many-fields = a plus de { $limit } champs
reason-row-of-line = ligne { $line } : { $reason }
reason-row-header = l’en-tête { $reason }
reason-row-not-json = n’est pas un objet JSON : { $reason } à la colonne { $column }
reason-row-repeated = « { $key } » figure déjà à la ligne { $line }
reason-row-default-repeated = la ligne { $line } définit déjà isDefault pour le type { $kind }

## Excel

reason-sheet-none = le classeur n’a aucune feuille
reason-sheet-unknown = la feuille « { $sheet } » n’est pas dans le classeur, qui contient { $names }
reason-sheet-row-too-large = la ligne { $number } fait plus de { $limit } Mio
reason-sheet-row-too-wide = la ligne { $number } a plus de { $limit } cellules
reason-sheet-cell-error = une cellule contient l’erreur { $error }
reason-sheet-no-result = la cellule { $cell } a une formule sans résultat ; ouvrez le fichier dans un tableur et enregistrez-le
reason-workbook-invalid = le classeur est illisible : { $problem }
reason-workbook-part = « { $name } » { $problem }
reason-workbook-io = erreur de lecture : { $error }
reason-workbook-doctype = a une définition de type de document
reason-workbook-part-too-large = a trop d’octets
reason-workbook-cell-too-large = a une cellule de trop d’octets
reason-workbook-too-many-texts = annonce trop de textes
reason-workbook-sheet-not-xml = désigne une feuille qui n’est pas en XML
reason-workbook-text-too-large = un texte ou une balise a trop d’octets

## FlatGeobuf

reason-fgb-invalid = le fichier n’est pas un FlatGeobuf valide
reason-fgb-feature = l’objet n’est pas du FlatGeobuf valide
reason-fgb-properties = les propriétés ne sont pas du FlatGeobuf valide
reason-fgb-geometry = la géométrie n’est pas du FlatGeobuf valide

## GeoPackage

reason-gpkg-unusable = le GeoPackage est inutilisable : { $error }
reason-gpkg-invalid = le fichier n’est pas un GeoPackage
reason-gpkg-no-contents = le fichier n’est pas un GeoPackage : il n’a pas de table gpkg_contents
reason-gpkg-not-table = « { $name } » doit être une table
reason-gpkg-data-columns = la table gpkg_data_columns a trop de lignes
reason-gpkg-geometry-columns = la couche « { $name } » a plusieurs colonnes de géométrie ; un GeoPackage peut en avoir une par couche
reason-gpkg-damaged = le GeoPackage est endommagé : il a plus de lignes qu’il ne peut en contenir
reason-gpkg-view = « { $name } » n’est pas une table ; les vues ne sont pas lues : enregistrez « { $name } » comme une couche à part
reason-gpkg-geometry = la géométrie n’est pas une géométrie GeoPackage
reason-gpkg-extended-geometry = la géométrie est dans un format étendu

## DXF

reason-dxf-invalid = le fichier n’est pas du DXF
reason-dxf-binary = le DXF binaire n’est pas pris en charge ; enregistrez le dessin en DXF texte (ASCII)
reason-dxf-line = la ligne { $line } n’est pas du DXF valide
reason-dxf-line-too-long = la ligne { $line } est trop longue
reason-dxf-no-coordinates = il manque des coordonnées à l’entité { $kind }
reason-dxf-entity-too-large = une entité est trop grande
reason-dxf-left-out = des entités qui ne peuvent pas être lues comme objets n’ont pas été reprises : { $kinds }
reason-dxf-tilted = des entités qui ne sont pas dessinées dans un plan horizontal n’ont pas été reprises : { $kinds }
reason-dxf-nothing = le dessin n’a aucune entité qui puisse être lue comme objet, seulement { $kinds }

## Imports

reason-layer-gone = La couche a été supprimée. Choisissez-en une autre.
reason-layer-name-taken = La couche « { $layer } » a déjà le nom court « { $slug } », qui est tiré du nom. Choisissez un autre nom, ou importez dans cette couche.
reason-layer-locked = la couche « { $layer } » est verrouillée ; déverrouillez-la pour modifier ses objets
reason-folder-not-found = dossier « { $key } » introuvable
reason-assignment-not-found = tâche « { $key } » introuvable
reason-not-records = Un fichier { $extension } ne peut pas contenir de données. Utilisez CSV, XLSX, JSON ou NDJSON.

## Second factors

reason-secret-malformed = le secret n’a pas le bon format
