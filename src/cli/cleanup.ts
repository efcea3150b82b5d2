import { type Command, parse, UsageError } from "./command.ts";
import { planPolicyScope, PLAN_OPTIONS } from "./cleanup/plan.ts";

const USAGE = `davit cleanup plan -f FILE|DIR --scope SCOPE [flags]

A dry run of a CleanupPolicy for one scope, from here: lists the versions under its prefix, asks for each that would go, and says what an Enforce run would
delete. It needs no cluster and has nothing to delete with. Credentials are those of the policy's Secret if the manifests have it, else what the AWS tools use
(AWS_ACCESS_KEY_ID, AWS_PROFILE, …). Exits 1 when there is no plan, or an Enforce run would be refused.

  -f, --file FILE|DIR    manifests with the CleanupPolicy; repeat it
  --scope SCOPE          whose objects: what stands for {scope}
  --policy NAME          which CleanupPolicy, if there are several
  -n, --namespace NAME   its namespace
  --cutoff TIME          RFC 3339: versions last modified before it have expired; default now minus expireAfter
  --limit N              planned versions that the table shows; default 20
  -o, --output FORMAT    table, json, or ndjson: every planned version a line, then the summary
`;

/** `davit cleanup`: what a CleanupPolicy would do. */
export const command: Command = {
  name: "cleanup",
  summary: "plan what a CleanupPolicy would delete",
  usage: USAGE,
  async run(argv, io) {
    const { values, positionals } = parse(argv, PLAN_OPTIONS, 1);
    if (positionals[0] !== "plan") throw new UsageError("say what to do: davit cleanup plan");
    return planPolicyScope(values, io);
  },
};
