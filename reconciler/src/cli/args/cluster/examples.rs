//! Examples for the commands that talk to a cluster, and what their exit statuses mean.

pub(super) const GET: &str = "\
Examples:
  reeve get                                  sources, runtimes and components of the namespace
  reeve get runtimes -A --sort state         of all namespaces, the worst first
  reeve get component eu-1.web -o wide       with its message in full
  reeve get components --watch               each row again when it changes
  reeve get scaling -A                       what sleeps, what wakes, what was saved
  reeve get runtimes -o json | jq '.items[].status.state'

Exit status: 0 all are Ready, or there are none, 1 something is not Ready, 2 could not look.";

pub(super) const TREE: &str = "\
Examples:
  reeve tree                                 all sources of the namespace and what is below them
  reeve tree runtime eu-1                    one runtime
  reeve tree source fleet -o json            for scripts

Objects are those of the inventory; what is wrong with one is told next to it.
Exit status: 0 all are Ready, 1 something is not Ready, 2 could not look.";

pub(super) const EVENTS: &str = "\
Examples:
  reeve events                               of all sources, runtimes and components, the newest last
  reeve events runtime eu-1 --watch          as they happen
  reeve events -A -o json | jq '.[].reason'";

pub(super) const TRACE: &str = "\
Examples:
  reeve trace deploy/web -n shop             component, chart, file and commit that it comes from
  reeve trace pod/web-6d4cf56db6-x7k2p       through the ReplicaSet and the Deployment that made it
  reeve trace certificate.cert-manager.io/web
  reeve -C ~/fleet trace deploy/web          also its template and the commit that last changed it

KIND is a kind, a plural, a short name, or KIND.GROUP. -C names a checkout of the fleet repository; without it the
current folder is one if it has the commit that is applied.
Exit status: 0 it is Reeve's, 1 it is not, 2 could not look.";

pub(super) const SUSPEND: &str = "\
Examples:
  reeve suspend runtime eu-1                 nothing is applied, pruned or repaired there
  reeve suspend component eu-1.web eu-2.web
  reeve suspend source fleet                 new commits are not looked at";

pub(super) const RESUME: &str = "\
Examples:
  reeve resume runtime eu-1
  reeve resume source fleet";

pub(super) const WAKE: &str = "\
Examples:
  reeve wake web -n shop                     as the first request would
  reeve wake web api --wait                  until their pods are ready

It stays awake for minAwake and idleAfter of its rule, like after a request.
Exit status: 0 asked, with --wait it is awake, 1 the rule does not act, 2 it took too long or could not be asked.";

pub(super) const SLEEP: &str = "\
Examples:
  reeve sleep web -n shop                    without waiting for idleAfter and minAwake
  reeve sleep web --wait --timeout 1m        until it sleeps

No request is cut: it sleeps when none is in flight, and the next one wakes it. A window of the rule counts for more.
Exit status: 0 asked, with --wait it sleeps, 1 it is too busy or the rule does not act, 2 it took too long or could not
be asked.";

pub(super) const NODE_HOOKS: &str = "\
Examples:
  reeve node hooks node-1                    plugins in the order in which they are asked, their circuits and numbers
  reeve node hooks node-1 -o json | jq .digest

Needs the rights to list pods of the feeds' namespace and to forward ports to them.
Exit status: 0 all is well, 1 a circuit is open, a revision was left, or a set cannot be used, 2 could not look.";

pub(super) const NODE_WHY: &str = "\
Examples:
  reeve node why web-0 -n shop               who changed, refused or failed what of it, and by which commit
  reeve node why web-0 -n shop --node node-1 of a pod that is gone
  reeve node why web-0 -o json | jq -r '.[].field'

The proxy of a node remembers the last 4096 decisions of its plugins; all of them are lines of its log.
Exit status: 0 looked, 2 could not look.";

pub(super) const RECONCILE: &str = "\
Examples:
  reeve reconcile source fleet               look for a new commit now
  reeve reconcile runtime eu-1 --with-source --wait
  reeve reconcile component eu-1.web --wait --timeout 10m

--with-source goes on as soon as the newest commit is in force, however other runtimes are doing.
Exit status: 0 asked, with --wait it is Ready, 1 it is not Ready, 2 it took too long, is suspended or could not be
asked.";

pub(super) const INSTALL: &str = "\
Examples:
  reeve install                              prints every object of this version
  reeve install --apply --wait               puts them into the cluster, and waits until they work
  reeve install --apply --applier cluster-admin        what a fleet says may be anything
  reeve install --apply --applier namespaces=shop,orders
  reeve install --set replicas=1 --set image.repository=registry.example.com/reeve
  reeve install --set 'sourceNamespaces=[\"team-a\",\"team-b\"]'
  reeve install --crds-only | kubectl apply --server-side -f -

A VALUE is JSON, or text if it is none: image.tag='\"1.0\"' is text. All values are in charts/reeve/values.yaml.
Without --applier objects of a fleet are refused until you bind roles to the account reeve-applier. Who has rights keeps
them: an upgrade without --applier takes none away.
Reeve runs in the namespace reeve-system unless -n names another.
Exit status: 0 printed or applied, 2 could not do it, or --wait took too long.";

pub(super) const BOOTSTRAP: &str = "\
Examples:
  reeve bootstrap -r eu -n fleet --kubeconfig eu.kubeconfig             prints what the cluster needs
  reeve bootstrap -r eu -n fleet --kubeconfig eu.kubeconfig --applier cluster-admin --apply | kubectl apply -f -

The kubeconfig is that of somebody who may create these objects in the other cluster; it is used once and stored nowhere.
What the control plane gets is an account that can tell which cluster it is, keep the inventories of the namespace, and act
as reeve-applier. The Secret is called RUNTIME-kubeconfig; the runtime's file names it:

  target:
    type: KubeConfig
    kubeConfigSecretRef: { name: eu-kubeconfig }

Run it again after an upgrade, or to get the Secret once more.
Exit status: 0 printed or applied, 2 could not do it.";

pub(super) const UNINSTALL: &str = "\
Examples:
  reeve uninstall                            lists what would go
  reeve uninstall --apply                    the controller and its rights go; sources and runtimes stay, for the next one
  reeve uninstall --apply --crds             the kinds go too, with all their objects

What Reeve applied stays in any case and belongs to nobody then. The namespace stays too.
Exit status: 0 listed or gone, 2 could not do it, or it took too long.";

pub(super) const VERSION: &str = "\
Examples:
  reeve version
  reeve version --client                     without a look at a cluster
  reeve version -o json | jq -r .controller.image

Exit status: 0 printed, 2 could not look.";

pub(super) const CHECK: &str = "\
Examples:
  reeve check --pre                          before `reeve install`: is all there that it needs?
  reeve check                                after it: does it work?
  reeve check -o json | jq '.[] | select(.result == \"fail\")'

Exit status: 0 no check failed, 1 one did, 2 could not look.";
