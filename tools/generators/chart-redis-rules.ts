import { aclRules, type RedisRole, reasonOf } from "../../src/custody/redis/user-rules.ts";
import type { Generator } from "./generator.ts";

const SOURCE = "src/custody/redis/user-rules.ts";
/** What the bundled Redis's users of these roles get beyond that: the controller makes the users of workers. */
const USERS: readonly { readonly name: string; readonly role: RedisRole; readonly more?: string }[] = [
  { name: "controller", role: "controller", more: "+acl" },
  { name: "gateway", role: "gateway" },
  { name: "console", role: "console" },
  { name: "worker", role: "shared" },
];

/** Rules of the users of the bundled Redis, as named templates. */
export const chartRedisRules: Generator = {
  output: "charts/davit/templates/redis/_rules.tpl",
  source: SOURCE,
  generate: async () => {
    const templates = USERS.map(({ name, role, more }) => {
      const rules = aclRules({ role, instance: "{{ .Values.instance }}" });
      return [
        `{{/* ${reasonOf(role)} */}}`,
        `{{- define "davit.redis.rules.${name}" -}}`,
        [...rules, ...(more === undefined ? [] : [more])].join(" "),
        "{{- end }}",
      ].join("\n");
    });
    return [`{{/* Generated from ${SOURCE} by \`npm run generate\`. */}}`, ...templates, ""].join("\n");
  },
};
