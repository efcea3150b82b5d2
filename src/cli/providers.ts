import { nearest } from "../lib/nearest.ts";
import { presets } from "../verification/presets/index.ts";
import { type Command, type Io, outputFormat, parse, printJson, UsageError } from "./command.ts";
import { factsOf, OWN_ALGORITHM, type ProviderFacts } from "./providers/facts.ts";
import { table } from "./table.ts";

const USAGE = `davit providers [NAME] [-o table|json]

Lists what spec.verification.provider may be; with a NAME everything that is known of that provider: where its signature stands and what it
covers, its secret and parameters, the id by which repetitions are told, handshakes, answers, retries, and the provider's own document.
`;

const MAX_CELL = 42;

/** `davit providers`: what `spec.verification.provider` may be. */
export const command: Command = {
  name: "providers",
  summary: "list the providers whose signatures are known",
  usage: USAGE,
  async run(argv, io) {
    const { values, positionals } = parse(argv, { output: { type: "string", short: "o" } }, 1);
    const format = outputFormat(values.output);
    const [name] = positionals;
    return name === undefined ? list(format, io) : show(name, format, io);
  },
};

async function list(format: "table" | "json", io: Io): Promise<number> {
  const all = [...presets.values()].map(factsOf).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (format === "json") printJson(io, all);
  else io.stdout.write(table(["NAME", "TITLE", "SIGNATURE IN", "ID", "ANSWER WITHIN", "DOCUMENT"], all.map(row)));
  return 0;
}

/** @throws UsageError when there is no such provider */
async function show(name: string, format: "table" | "json", io: Io): Promise<number> {
  const preset = presets.get(name);
  if (preset === undefined) {
    const meant = nearest(name, [...presets.keys()]);
    throw new UsageError(
      `"${name}" is unknown; ${meant === undefined ? "davit providers lists them" : `did you mean ${meant}?`}`,
    );
  }
  const facts = factsOf(preset);
  if (format === "json") printJson(io, facts);
  else
    io.stdout.write(
      linesOf(facts)
        .map(([label, text]) => `${label.padEnd(12)}${text}\n`)
        .join(""),
    );
  return 0;
}

function row({ name, title, signature, id, answer, documentation }: ProviderFacts): readonly string[] {
  const [first = "-", ...more] = id.parts;
  return [
    name,
    title,
    shortened(signature.place),
    more.length === 0 ? first : `${first} +${more.length}`,
    answer.within,
    documentation,
  ];
}

function linesOf(facts: ProviderFacts): readonly (readonly [label: string, text: string])[] {
  const { signature, secret, parameters, id, handshakes } = facts;
  return [
    ["provider", `${facts.name} (${facts.title})`],
    ["document", facts.documentation],
    ["signature", signatureLine(signature)],
    ["time", signature.tolerance === undefined ? "not checked" : `within ${signature.tolerance} of the clock`],
    ...(signature.signsUrl
      ? [["url", "signed: set verification.publicUrl to the one that is set up at the provider"] as const]
      : []),
    ["secret", secretLine(secret)],
    ...parameters.map((parameter) => ["parameter", parameterLine(parameter)] as const),
    ["id", `${id.parts.join(" + ") || "none"}; without it ${id.withoutId}`],
    ...handshakes.map(
      ({ name, method, signed }) => ["handshake", `${name} (${method}, ${signed ? "signed" : "not signed"})`] as const,
    ),
    ["answer", answerLine(facts.answer)],
    ["retries", `${facts.retries} (told apart for ${facts.repeatsFor})`],
    ...(facts.danger === undefined ? [] : [["danger", facts.danger] as const]),
    ...(facts.note === undefined ? [] : [["note", facts.note] as const]),
    ...(facts.payload.eventTypeFrom === undefined ? [] : [["event type", facts.payload.eventTypeFrom] as const]),
  ];
}

/** A scheme of its own says its algorithm where it says its place. */
function signatureLine({ place, algorithm, content }: ProviderFacts["signature"]): string {
  return `${place}${algorithm === OWN_ALGORITHM ? "" : `; ${algorithm}`}; covers ${content}`;
}

function shortened(text: string): string {
  return text.length <= MAX_CELL ? text : `${text.slice(0, MAX_CELL - 1).trimEnd()}…`;
}

function secretLine({ kind, description, others }: ProviderFacts["secret"]): string {
  return `${kind}: ${description}${others.length === 0 ? "" : `; also secretRefs with use ${others.join(", ")}`}`;
}

function parameterLine({ name, required, description, values, pattern }: ProviderFacts["parameters"][number]): string {
  const form = values === undefined ? (pattern === undefined ? "" : ` [${pattern}]`) : ` [${values.join(", ")}]`;
  return `${name}${form}${required ? ", required" : ""}: ${description}`;
}

function answerLine({ status, contentType, body, within, refusals }: ProviderFacts["answer"]): string {
  const content =
    body === undefined
      ? ""
      : ` with ${body === "" ? "no body" : JSON.stringify(body)}${contentType ? ` (${contentType})` : ""}`;
  const others = Object.entries(refusals).map(([reason, other]) => `; ${other} for ${reason}`);
  return `${status}${content}, due within ${within}${others.join("")}`;
}
