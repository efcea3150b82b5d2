import { describe, expect, it } from "vitest";
import { presets } from "../verification/presets/index.ts";
import { UsageError } from "./command.ts";
import { command } from "./providers.ts";

async function run(...argv: string[]): Promise<string> {
  let out = "";
  const stdout = { write: (text: string) => (out += text) };
  expect(await command.run(argv, { stdout, stderr: stdout })).toBe(0);
  return out;
}

describe("davit providers", () => {
  it("lists every preset once, with signature, id, ack budget and the provider's document", async () => {
    const [header = "", ...lines] = (await run()).trimEnd().split("\n");
    expect(header).toMatch(/^NAME +TITLE +SIGNATURE IN +ID +ANSWER WITHIN +DOCUMENT$/);
    expect(lines.map((line) => line.split(" ")[0])).toEqual([...presets.keys()].toSorted());
    expect(lines.find((line) => line.startsWith("slack "))).toMatch(
      /^slack +Slack +x-slack-signature +json:\/event_id +3s +https:\/\//,
    );
  });

  it("shows everything of one provider", async () => {
    const text = await run("twilio");
    for (const label of ["signature", "secret", "parameter", "id", "answer", "retries", "url", "document"]) {
      expect(text).toMatch(new RegExp(`^${label} +\\S`, "m"));
    }
    expect(await run("slack")).toMatch(/^time +within 5m of the clock$/m);
    expect(await run("github")).toMatch(/^time +not checked$/m);
  });

  it("prints plain data as JSON: functions and patterns in words", async () => {
    const all = JSON.parse(await run("-o", "json")) as Record<string, unknown>[];
    expect(all).toHaveLength(presets.size);
    for (const facts of all) {
      expect(facts["documentation"]).toMatch(/^https:\/\//);
      expect(JSON.stringify(facts)).not.toMatch(/"pattern":\{\}|undefined|\[object/);
    }
    expect(JSON.parse(await run("aws-sns", "-o", "json"))).toMatchObject({
      parameters: [{ name: "topicArn", required: true }],
    });
  });

  it("says which provider was meant", async () => {
    await expect(run("strip")).rejects.toThrow(UsageError);
    await expect(run("strip")).rejects.toThrow("did you mean stripe?");
  });
});
