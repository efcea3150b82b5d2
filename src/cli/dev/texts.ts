import type { RouteEntry } from "../../routes/entry.ts";
import { invocation, type Output } from "../command.ts";
import { senderOf, signMessage } from "../send/request.ts";
import { styleFor } from "../style.ts";
import { table } from "../table.ts";
import type { DemonstrationReport } from "./demonstration-report.ts";

/** What is served where. */
export function upText(facts: {
  readonly gateway: string;
  readonly admin: string;
  readonly api: string;
  readonly console: string;
  readonly dataDir: string;
  readonly entries: readonly RouteEntry[];
  readonly output: Output;
}): string {
  const { gateway, admin, api, console: operations, dataDir, entries, output } = facts;
  const { bold } = styleFor(output);
  const rows = entries.map(({ namespace, name, path, verification, destinations }) => [
    `${namespace}/${name}`,
    verification.type === "provider" ? verification.provider : verification.type,
    `${gateway}${path}`,
    destinations.map(({ name: to, target }) => (target.type === "http" ? `${to} (${target.url})` : to)).join(", "),
  ]);
  const routes = rows.length === 0 ? "no routes yet\n" : table(["ROUTE", "SIGNED AS", "POST TO", "DELIVERED TO"], rows);
  return `${bold("davit dev is up")}: gateway ${gateway}, API ${api}, operations ${operations}, metrics ${admin}/metrics, data in ${dataDir}\n\n${routes}\n`;
}

/** A table of what became of each event, and what differs from what should have. */
export function demonstrationText({ steps, counts, differences }: DemonstrationReport, output: Output): string {
  const { green, red, bold } = styleFor(output);
  const rows = steps.map(({ event, route, answer, attempts, outcome, id }) => [
    event,
    route,
    answer,
    attempts,
    outcome,
    id,
  ]);
  const sums = [
    `${counts.delivered} delivered`,
    `${counts.duplicates} duplicate`,
    `${counts.rejected} rejected`,
    `${counts.retried} retried`,
    `${counts.deadLettered} dead-lettered`,
    `${counts.replayed} replayed`,
  ].join(", ");
  const verdict =
    differences.length === 0
      ? green("every step ended as it should")
      : red(`${differences.length} step(s) ended otherwise:\n${differences.map((line) => `  ${line}`).join("\n")}`);
  const header = ["EVENT", "ROUTE", "ANSWER", "ATTEMPTS", "OUTCOME", "EVENT ID"];
  return `${bold("What became of each event")}\n\n${table(header, rows)}\n${sums}\n${verdict}\n`;
}

/** Ready lines for the next thing to do. */
export function howToPost(facts: {
  readonly gateway: string;
  readonly entries: readonly RouteEntry[];
  readonly demonstration: boolean;
  readonly dataDir: string | undefined;
}): string {
  const { gateway, entries, demonstration, dataDir = "" } = facts;
  const [first] = entries;
  if (first === undefined) return "waiting for manifests; Ctrl-C ends it\n";
  const davit = invocation();
  const dir = dataDir === ".davit" ? "" : ` --data-dir ${dataDir}`;
  // Only with the values of the demonstration: a signed line for a real secret would be good at the real address too.
  const curl = demonstration ? curlLine(gateway, first) : undefined;
  const lines = [
    ...(curl === undefined ? [] : ["post one yourself (the same again is a duplicate):", `  ${curl}`]),
    "sign and post as the provider would:",
    `  ${davit} send --route ${first.namespace}/${first.name}${dir}`,
    "see what became of it:",
    `  ${davit} events${dir}`,
    `  ${davit} trace EVENT_ID${dir}`,
    "saving a manifest puts it into effect; a changed Secret value stays accepted for the overlap. Ctrl-C ends it; the data stays.",
  ];
  return `\n${lines.join("\n")}\n`;
}

/** A request whose signature holds for ever; `undefined` for schemes that sign the time. */
function curlLine(gateway: string, entry: RouteEntry): string | undefined {
  const draft = { id: "hello-1", idInBody: true, now: 0 };
  const { headers, body } = signMessage(senderOf(entry), entry.path, draft);
  const later = signMessage(senderOf(entry), entry.path, { ...draft, now: 1e12 });
  if (JSON.stringify(later.headers) !== JSON.stringify(headers)) return undefined;
  const flags = Object.entries(headers)
    .filter(([name]) => name !== "user-agent")
    .map(([name, value]) => `-H '${name}: ${value}'`);
  return `curl -i ${gateway}${entry.path} ${flags.join(" ")} -d '${body.toString()}'`;
}
