import { aclRules, commandRules, reasonOf, type RedisRole, userName } from "../../src/custody/redis/user-rules.ts";
import type { Generator } from "./generator.ts";

const INSTANCE = "default";
const NAMESPACE = "NAMESPACE";
const ROLES: readonly { readonly role: RedisRole; readonly number: string; readonly when: string }[] = [
  { role: "gateway", number: "one a release", when: "always" },
  { role: "controller", number: "one a release", when: "always" },
  { role: "console", number: "one a release", when: "with a console" },
  { role: "worker", number: "one for each namespace with routes", when: "`Provided`" },
  { role: "shared", number: "one a release, instead of the others", when: "`Shared`" },
];

/** `docs/redis-users.md`: the ACL that a platform team sets where Davit does not, from the rules Davit sets itself. */
export const redisUsersDoc: Generator = {
  output: "docs/redis-users.md",
  source: "src/custody/redis/user-rules.ts",
  generate: async () =>
    [
      "# Redis users",
      "",
      "Generated from `src/custody/redis/user-rules.ts` by `npm run generate`.",
      "",
      "`redis.users` in the config says who makes the users:",
      "",
      "- `Provisioned`: the controller sets them on every node and puts the URL of each namespace, and those of the gateways and the console, into a Secret. A Redis that was restarted gets them again within seconds. Its own URL needs an administrator (`+acl`); where that cannot be had, as on some managed servers, use `Provided`. A Secret that is deleted is made anew with another password; the one before is accepted for 10 minutes.",
      "- `Provided`: you make them with the rules below on every node (and keep them: `aclfile`, or the server's configuration), and a Secret (`redis.providedSecretName`, key `url`) in each namespace with routes.",
      "- `Shared`: one user for everything. Workers then run in the release's namespace, and handlers and images are refused.",
      "",
      `The commands are for the instance \`${INSTANCE}\`; another one is the second part of every key. Write a namespace for \`${NAMESPACE}\` and a password of your own for`,
      "`PASSWORD`. The names are those that Davit uses; others do as well.",
      "",
      ...ROLES.flatMap(section),
      "## Checking",
      "",
      "Gateways, workers and the console try every command they need on keys of their own when they start, and are not ready while one is refused; the log has Redis's words.",
      "",
    ].join("\n"),
};

function section({ role, number, when }: (typeof ROLES)[number]): string[] {
  const scope = { role, instance: INSTANCE, ...(role === "worker" && { namespace: NAMESPACE }) };
  const patterns = aclRules(scope).slice(0, -commandRules(role).length);
  const quoted = patterns.map((rule) => (/[{*&]/.test(rule) ? `'${rule}'` : rule));
  return [
    `## ${role[0]?.toUpperCase()}${role.slice(1)}`,
    "",
    `Needed: ${when}; ${number}. It ${reasonOf(role)}.`,
    "",
    "```",
    `redis-cli ACL SETUSER ${userName(scope)} reset on '>PASSWORD' ${quoted.join(" ")} \\`,
    `  ${commandRules(role)
      .map((rule) => (rule.includes("|") ? `'${rule}'` : rule))
      .join(" ")}`,
    "```",
    "",
  ];
}
