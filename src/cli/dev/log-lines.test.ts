import { describe, expect, it } from "vitest";
import { createLogger } from "../../observability/logger.ts";
import { logLines } from "./log-lines.ts";

function logged(log: (logger: ReturnType<typeof createLogger>) => void): string {
  let text = "";
  const output = {
    write: (line: string) => {
      text += line;
    },
  };
  log(createLogger("dev", { level: "info", destination: logLines(output) }));
  return text;
}

describe("logLines", () => {
  it("turns the logger's JSON into a line with time, route, words and event", () => {
    const fields = { namespace: "shop", route: "stripe", event: "01ARZ", attempt: 3 };
    const line = logged((logger) => logger.info(fields, "destination acme returned 429; attempt 3 put back for 120 s"));
    expect(line).toMatch(/^\d\d:\d\d:\d\d\.\d{3} shop\/stripe {2}destination acme .* for 120 s {2}\[01ARZ\]\n$/);
  });

  it("says what an error was", () => {
    expect(logged((logger) => logger.error({ err: new Error("why") }, "it failed"))).toMatch(/ it failed: why\n$/);
  });

  it("shows no field it does not know, so no value either", () => {
    expect(logged((logger) => logger.info({ anything: "hidden" }, "words"))).not.toContain("hidden");
  });
});
