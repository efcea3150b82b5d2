import { factsOf, OWN_ALGORITHM, type ProviderFacts } from "../../src/cli/providers/facts.ts";
import { presets } from "../../src/verification/presets/index.ts";
import type { Generator } from "./generator.ts";

/** `docs/providers.md`: a table of all providers and a section for each, from their presets. */
export const providersDoc: Generator = {
  output: "docs/providers.md",
  source: "src/verification/presets",
  generate: () => {
    const all = [...presets.values()].map(factsOf).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return Promise.resolve(
      [
        "# Providers",
        "",
        "Generated from `src/verification/presets` by `npm run generate`. A route names one in `spec.verification.provider`; `davit providers NAME` shows the",
        "same in a terminal.",
        "",
        "| provider | name | signature in | id | answer within | repeats for | handshake |",
        "|---|---|---|---|---|---|---|",
        ...all.map(row),
        "",
        "- **Id**: what tells a repeated delivery from a new one. An id that is not signed counts only together with the body.",
        "- **Repeats for**: the longest time over which the provider repeats a delivery, and the default of `spec.dedupe.window`.",
        "- A time that is checked may lie that far in the past or in the future; `spec.verification.tolerance` sets another one.",
        "",
        ...all.flatMap(section),
      ].join("\n"),
    );
  },
};

function row({ name, title, signature, id, answer, repeatsFor, handshakes }: ProviderFacts): string {
  const cells = [
    `[${title}](#${anchor(title)})`,
    `\`${name}\``,
    signature.place,
    inShort(id.parts),
    answer.within,
    repeatsFor,
    [...new Set(handshakes.map((handshake) => handshake.name))].join(", ") || "–",
  ];
  return `| ${cells.map(escaped).join(" | ")} |`;
}

function inShort(parts: readonly string[]): string {
  const shown = parts.slice(0, 3).map(code).join(" + ");
  return `${shown || "–"}${parts.length > 3 ? " + …" : ""}`;
}

function section(facts: ProviderFacts): readonly string[] {
  const { signature, handshakes, danger, note } = facts;
  const time = signature.tolerance === undefined ? "not checked" : `signed; within ${signature.tolerance} of the clock`;
  return [
    `## ${facts.title}`,
    "",
    `\`provider: ${facts.name}\` · [document](${facts.documentation})`,
    "",
    `- Signature: ${signature.place}${signature.algorithm === OWN_ALGORITHM ? "" : `, ${signature.algorithm}`}, over ${content(signature.content)}`,
    `- Time: ${time}`,
    ...(signature.signsUrl
      ? ["- URL: signed; `verification.publicUrl` must be the one that is set up at the provider"]
      : []),
    `- Secret (${facts.secret.kind}): ${facts.secret.description}${uses(facts.secret.others)}`,
    ...facts.parameters.map(parameter),
    `- Id: ${facts.id.parts.map(code).join(" + ") || "none"}; without it ${facts.id.withoutId}`,
    ...(handshakes.length === 0 ? [] : [`- Handshake: ${handshakes.map(handshakeOf).join(", ")}`]),
    `- Answer: ${answerOf(facts.answer)}`,
    `- Retries: ${facts.retries}`,
    ...(danger === undefined ? [] : [`- Danger: ${danger}`]),
    ...(note === undefined ? [] : [`- Note: ${note}`]),
    ...(facts.payload.eventTypeFrom === undefined ? [] : [`- Event type: ${code(facts.payload.eventTypeFrom)}`]),
    "",
  ];
}

function uses(others: readonly string[]): string {
  return others.length === 0 ? "" : `; \`secretRefs\` also with ${others.map((use) => `\`use: ${use}\``).join(", ")}`;
}

function parameter({ name, required, description, values, pattern }: ProviderFacts["parameters"][number]): string {
  const form = values?.map((value) => `\`${value}\``).join(", ") ?? (pattern === undefined ? "" : `\`${pattern}\``);
  return `- Parameter \`${name}\` (${required ? "required" : "optional"}${form === "" ? "" : `; ${form}`}): ${description}`;
}

function handshakeOf({ name, method, signed }: ProviderFacts["handshakes"][number]): string {
  return `\`${name}\` (${method}, ${signed ? "signed" : "not signed"})`;
}

function answerOf({ status, contentType, body, within, refusals }: ProviderFacts["answer"]): string {
  const text =
    body === undefined
      ? ""
      : ` with ${body === "" ? "an empty body" : code(body)}${contentType ? ` as ${contentType}` : ""}`;
  const others = Object.entries(refusals).map(
    ([reason, other]) => `; ${other} instead of the usual status for ${reason}`,
  );
  return `${status}${text}, due within ${within}${others.join("")}`;
}

/** Templates are code, words are words. */
function content(text: string): string {
  return /^[^ ]*\{\w+\}[^ ]*$/.test(text) ? code(text) : text;
}

function code(text: string): string {
  const [, main = text, remark = ""] = /^(\S+)( \(.*\))?$/s.exec(text) ?? [];
  return `\`${main}\`${remark}`;
}

function escaped(cell: string): string {
  return cell.replaceAll("|", "\\|");
}

/** As GitHub makes it of a heading. */
function anchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
