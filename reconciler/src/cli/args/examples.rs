//! What `--help` shows below the options: examples, and what the exit status means.

pub(super) const REEVE: &str = "\
Examples:
  reeve new fleet my-fleet            a fleet repository to begin with
  reeve validate my-fleet             all that is wrong with it
  reeve render my-fleet               all that it renders to
  reeve diff HEAD~1 .                 what the last change does to each runtime
  reeve diff --live                   what the cluster has otherwise than the repository
  reeve explain -r dev image.tag      which file sets a value
  reeve install --apply               puts Reeve into a cluster
  reeve get                           how the cluster is doing
  reeve trace deploy/web              which file and commit an object comes from

Exit status: 0 all is well, 1 there are findings or differences or something is not Ready, 2 the command could not do its work.";

pub(super) const RENDER: &str = "\
Examples:
  reeve render                                          all runtimes of the repository here
  reeve render -r eu-1 -c web                           one component of one runtime
  reeve render -r eu-1 | kubectl diff -f -              against a cluster
  reeve render --rev v1.2.0 -o digest                   what a tag rendered to
  reeve render --git https://host/fleet.git --rev main

A runtime that cannot be rendered is left out; what is wrong with it is told on standard error.
Exit status: 0 all is printed, 1 there are errors, 2 the command could not do its work.";

pub(super) const VALIDATE: &str = "\
Examples:
  reeve validate                                        the repository here
  reeve validate --against origin/main                  released charts must not have changed since
  reeve validate -o github                              annotations in a pull request
  reeve validate -o sarif > reeve.sarif                 for code scanning
  reeve validate -o json | jq '.findings[].code'

The JSON document has `findings`, each with severity, code, message, file, line, column, length, key, help, notes and
runtimes, and `summary` with runtimes, components, objects, errors and warnings. Fields that do not apply are null.
Exit status: 0 no errors, 1 errors (with --warnings-as-errors also warnings), 2 the command could not do its work.";

pub(super) const DIFF: &str = "\
Examples:
  reeve diff HEAD~1 HEAD                                the last commit
  reeve diff main .                                     what is not on main yet
  reeve diff main my-branch -r eu-1                     for one runtime
  reeve diff ./old-fleet ./new-fleet -o json            two folders
  reeve diff --live                                     the repository here and the cluster of the current context
  reeve diff --live fleet --rev main -r dev -n fleet    one runtime at a revision; its GitSource is in namespace fleet
  reeve diff --live --git https://host/fleet.git --rev v1.2.0

A and B are folders if such folders exist, else revisions of the repository here (or of that of -C PATH). Runtimes that
change alike are shown together. Of Secrets it is told which keys change, not how.
--live asks the API server, by a server-side dry run of the very payload that `reeve run` would send, what it would make
of each object, and compares that with the object as it is: a field is added, changed or removed by what would be applied.
What would be refused is shown with the reason, and what policies and annotations leave alone is left alone. Jobs of
hooks, and runtimes in other clusters, are not compared. It needs the rights to get, create and patch the objects and to
list inventories; nothing is written, and nobody is impersonated unless asked.
Exit status: 0 no difference, 1 differences, 2 something could not be rendered, read or asked.";

pub(super) const EXPLAIN: &str = "\
Examples:
  reeve explain -r eu-1 image.tag                       which files set a value, the last one wins
  reeve explain -r eu-1 -c web resources.limits
  reeve explain -r eu-1 Deployment/web .spec.replicas   which values a field comes from
  reeve explain -r eu-1 deployment/web '.spec.template.spec.containers[0].image'

What a field comes from is found by trial: each value that its template reads is changed, and the field is looked at.";

pub(super) const NEW: &str = "\
Examples:
  reeve new fleet my-fleet            makes the folder my-fleet
  reeve new chart web                 makes charts/web/0.1.0 in the repository here
  reeve new runtime eu-1              makes runtimes/eu-1.yaml in the repository here

Nothing that exists is overwritten.";

pub(super) const CHART: &str = "\
Examples:
  reeve chart import ../charts/web                                a folder
  reeve chart import web-1.2.3.tgz                                what `helm package` or `helm pull` made
  reeve chart import oci://registry.example/charts/web            the newest release in a registry
  reeve chart import https://charts.example web --version '^1.2'  from a Helm repository
  reeve chart update web                                          what a newer one does to each runtime
  reeve chart update web --write                                  and put it beside the old one

The chart is unpacked into charts/NAME/VERSION; charts/NAME/VERSION.lock says where it came from. What will not work of it
is told at once. Rendering fetches nothing.
Exit status: 0 all is well, 1 the chart has errors or the fleet differs, 2 the command could not do its work.";

pub(super) const COMPLETIONS: &str = "\
Examples:
  reeve completions bash > /etc/bash_completion.d/reeve
  reeve completions zsh > \"${fpath[1]}/_reeve\"
  reeve completions fish > ~/.config/fish/completions/reeve.fish";

pub(super) const PLAN: &str = "\
Examples:
  reeve plan                                     the repository here against the cluster of the current context
  reeve plan --runtime shop-dev -n fleet         one runtime; its GitSource is in namespace fleet
  reeve plan --rev main..HEAD                    what a pull request does, without a cluster
  reeve plan --rev main..HEAD -o json            the same for a programme

Signs: + create, ~ change or take over, ! repair, - delete, > run a Job, x refused. What is suspended, waits for what
does not become ready, or has a target that is not served is told, and nothing is done to it. What the API server
itself would refuse, `reeve diff --live` asks it.

Status 0: nothing to do. 1: something to do, a runtime to end, or something refused. 2: it could not be found out, or
the repository would be refused.";

pub(super) const RUN: &str = "\
Examples:
  reeve run                                                  in a pod, as `reeve install` sets it up
  reeve run --no-lease --data-folder /tmp/reeve              on a laptop, against the current context
  reeve run --watch-namespace team-a --concurrency 64        one namespace only, more at once";
