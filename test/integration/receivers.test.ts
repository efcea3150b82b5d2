import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSigner } from "../../src/delivery/signing.ts";
import type { RingKey } from "../../src/routes/entry.ts";

const run = promisify(execFile);
const NOW = 1_700_000_000;
const ID = "01J0000000000000000000TEST";
const BODY = Buffer.from('{"name":"caf\u00e9","n":1.0}');
const ENCODED = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** A request that somebody got, and what is true of it. */
interface Case {
  readonly name: string;
  readonly genuine: boolean;
  readonly secrets: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function signed(
  scheme: "StandardWebhooks" | "Timestamped",
  secrets: readonly string[],
  at = NOW,
): Record<string, string> {
  const keys = secrets.map(
    (secret, index): RingKey => ({
      id: String(index),
      use: "Signing",
      state: index === 0 ? "current" : "previous",
      since: 0,
      value: Buffer.from(secret).toString("base64"),
    }),
  );
  const flat: string[] = [];
  createSigner({ scheme, header: "x-signature", keys })(flat, ID, BODY, at * 1_000);
  const pairs = flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] ?? ""] as const] : []));
  return { "webhook-id": ID, ...Object.fromEntries(pairs) };
}

/** The same cases for both schemes: what our signer makes is genuine, what differs from it anywhere is not. */
function cases(scheme: "StandardWebhooks" | "Timestamped"): readonly Case[] {
  const body = BODY.toString("base64");
  const own = signed(scheme, [ENCODED]);
  const header = scheme === "StandardWebhooks" ? "webhook-signature" : "x-signature";
  const make = (name: string, genuine: boolean, changes: Partial<Case> = {}): Case => ({
    name,
    genuine,
    secrets: [ENCODED],
    headers: own,
    body,
    ...changes,
  });
  const without = (missing: string) => Object.fromEntries(Object.entries(own).filter(([key]) => key !== missing));
  const overlap = signed(scheme, ["the new one", ENCODED]);
  return [
    make("as it was sent", true),
    make("a secret that is no base64", true, {
      secrets: ["a plain secret"],
      headers: signed(scheme, ["a plain secret"]),
    }),
    make("in an overlap, to who knows the old secret", true, { headers: overlap }),
    make("in an overlap, to who knows the new one", true, { headers: overlap, secrets: ["the new one"] }),
    make("to who knows two secrets", true, { secrets: ["another", ENCODED] }),
    make("4 minutes ago", true, { headers: signed(scheme, [ENCODED], NOW - 240) }),
    make("4 minutes ahead", true, { headers: signed(scheme, [ENCODED], NOW + 240) }),
    make("6 minutes ago", false, { headers: signed(scheme, [ENCODED], NOW - 360) }),
    make("6 minutes ahead", false, { headers: signed(scheme, [ENCODED], NOW + 360) }),
    make("with another secret", false, { secrets: ["another"] }),
    make("with another body", false, { body: Buffer.from(`${BODY.toString()} `).toString("base64") }),
    make("without its signature", false, { headers: without(header) }),
    make("with an empty signature", false, { headers: { ...own, [header]: "" } }),
    make("with junk for a signature", false, { headers: { ...own, [header]: "v1,!!! v1, t=1,v1=zz" } }),
    ...(scheme === "Timestamped"
      ? []
      : [
          make("with another id", false, { headers: { ...own, "webhook-id": "other" } }),
          make("without its id", false, { headers: without("webhook-id") }),
          make("without its timestamp", false, { headers: without("webhook-timestamp") }),
          make("with another timestamp", false, { headers: { ...own, "webhook-timestamp": String(NOW - 1) } }),
          make("with junk behind its timestamp", false, { headers: { ...own, "webhook-timestamp": `${NOW}abc` } }),
        ]),
  ];
}

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/receivers.md"), "utf8");
/** The page's code blocks of a language, in order. */
const blocks = (language: string): string[] =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, text = ""]) => text);

/** How a language's code is run over the cases: files to write, and the command. Each prints one line a case. */
interface Language {
  readonly name: string;
  readonly program: string;
  readonly files: (code: string, list: readonly Case[]) => Readonly<Record<string, string>>;
  readonly args: readonly string[];
}

const JS_DRIVER = (call: string) => `
import { readFileSync } from "node:fs";
for (const { secrets, headers, body } of JSON.parse(readFileSync("cases.json", "utf8"))) console.log(${call});
`;
const lines = (list: readonly Case[]): string =>
  list
    .map(({ secrets, headers, body }) =>
      [secrets.join("|"), body, ...Object.entries(headers).map(([name, value]) => `${name}=${value}`)].join("\t"),
    )
    .join("\n");

const LANGUAGES: readonly Language[] = [
  {
    name: "js",
    program: process.execPath,
    files: (code) => ({
      "main.mjs": code + JS_DRIVER(`isGenuine(secrets, headers, Buffer.from(body, "base64"), ${NOW})`),
    }),
    args: ["main.mjs"],
  },
  {
    name: "python",
    program: process.env["PYTHON_BIN"] ?? "python3",
    files: (code) => ({
      "main.py": `${code}
import json
for case in json.load(open("cases.json")):
    print(str(is_genuine(case["secrets"], case["headers"], base64.b64decode(case["body"]), ${NOW})).lower())
`,
    }),
    args: ["-B", "main.py"],
  },
  {
    name: "go",
    program: "go",
    files: (code, list) => ({
      "go.mod": "module receiver\n\ngo 1.21\n",
      "webhook/webhook.go": code,
      "cases.txt": lines(list),
      "main.go": `package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"receiver/webhook"
	"strings"
	"time"
)

func main() {
	text, _ := os.ReadFile("cases.txt")
	for _, line := range strings.Split(string(text), "\\n") {
		fields := strings.Split(line, "\\t")
		header := map[string]string{}
		for _, field := range fields[2:] {
			name, value, _ := strings.Cut(field, "=")
			header[strings.ToLower(name)] = value
		}
		body, _ := base64.StdEncoding.DecodeString(fields[1])
		get := func(name string) string { return header[strings.ToLower(name)] }
		fmt.Println(webhook.IsGenuine(strings.Split(fields[0], "|"), get, body, time.Unix(${NOW}, 0)))
	}
}
`,
    }),
    args: ["run", "."],
  },
  {
    name: "java",
    program: "java",
    files: (code, list) => ({
      "cases.txt": lines(list),
      // The class of a file that is run as it is comes first.
      "Main.java": code.replace(
        "final class Webhooks {",
        `final class Main {
    public static void main(String[] args) throws Exception {
        for (String line : java.nio.file.Files.readAllLines(java.nio.file.Path.of("cases.txt"))) {
            String[] fields = line.split("\\t", -1);
            Map<String, String> headers = new java.util.HashMap<>();
            for (int i = 2; i < fields.length; i++) {
                int end = fields[i].indexOf('=');
                headers.put(fields[i].substring(0, end), fields[i].substring(end + 1));
            }
            byte[] body = Base64.getDecoder().decode(fields[1]);
            System.out.println(Webhooks.isGenuine(List.of(fields[0].split("\\\\|")), headers, body, ${NOW}L));
        }
    }
}

final class Webhooks {`,
      ),
    }),
    args: ["Main.java"],
  },
];

/** JavaScript and Python must be there; the others are run where they are. */
const ALWAYS = new Set(["js", "python"]);
const isThere = (program: string) => spawnSync(program, ["version"], { stdio: "ignore" }).error === undefined;
const runnable = LANGUAGES.filter(({ name, program }) => ALWAYS.has(name) || isThere(program));

describe("the code of the page for receivers", () => {
  let root: string;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "davit-receivers-"));
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  async function judge(language: Language, code: string, list: readonly Case[]): Promise<readonly string[]> {
    const directory = mkdtempSync(join(root, `${language.name}-`));
    mkdirSync(join(directory, "webhook"));
    writeFileSync(join(directory, "cases.json"), JSON.stringify(list));
    for (const [file, text] of Object.entries(language.files(code, list))) writeFileSync(join(directory, file), text);
    const { stdout } = await run(language.program, language.args, {
      cwd: directory,
      env: { ...process.env, GOFLAGS: "-mod=mod", GOPROXY: "off" },
    });
    return stdout.trim().split("\n");
  }
  const verdicts = (list: readonly Case[], answers: readonly string[]) =>
    list.map(({ name }, index) => `${name}: ${answers[index]}`);
  const wanted = (list: readonly Case[]) => list.map(({ name, genuine }) => `${name}: ${genuine}`);

  it("is there in four languages, and each block is tested", () => {
    expect(LANGUAGES.map(({ name }) => blocks(name).length)).toEqual([2, 1, 1, 1]);
  });

  it.each(runnable)(
    "tells what is genuine from what is not, in $name",
    async (language) => {
      const list = cases("StandardWebhooks");
      const answers = await judge(language, blocks(language.name)[0] ?? "", list);
      expect(verdicts(list, answers)).toEqual(wanted(list));
    },
    240_000,
  );

  it("tells it for timestamped signatures", async () => {
    const list = cases("Timestamped");
    const call = `isGenuineTimestamped(secrets, headers["x-signature"], Buffer.from(body, "base64"), ${NOW})`;
    const js: Language = {
      name: "js",
      program: process.execPath,
      files: (code) => ({ "main.mjs": code + JS_DRIVER(call) }),
      args: ["main.mjs"],
    };
    const answers = await judge(js, blocks("js")[1] ?? "", list);
    expect(verdicts(list, answers)).toEqual(wanted(list));
  });
});
