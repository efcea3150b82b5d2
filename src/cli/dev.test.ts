import { describe, expect, it } from "vitest";
import { UsageError } from "./command.ts";
import { devOptions } from "./dev.ts";

const FILE = ["-f", "manifests"];

describe("devOptions", () => {
  it("takes the ports and the directory people expect", () => {
    expect(devOptions(FILE)).toMatchObject({
      port: 8080,
      adminPort: 9090,
      apiPort: 8081,
      consolePort: 8082,
      dataDir: ".davit",
      demonstration: false,
    });
  });

  it("takes free ports and a temporary directory for --once, so that it disturbs nothing", () => {
    const options = devOptions([...FILE, "--once"]);
    expect(options).toMatchObject({
      port: 0,
      adminPort: 0,
      apiPort: 0,
      consolePort: 0,
      dataDir: undefined,
      demonstration: true,
      once: true,
    });
    const given = devOptions([
      ...FILE,
      "--once",
      "--port",
      "81",
      "--admin-port",
      "82",
      "--api-port",
      "83",
      "--console-port",
      "84",
      "--data-dir",
      "d",
    ]);
    expect(given).toMatchObject({ port: 81, adminPort: 82, apiPort: 83, consolePort: 84, dataDir: "d" });
  });

  it("serves holders of destinations' tokens only when told where", () => {
    expect(devOptions(FILE).destinationPort).toBeUndefined();
    expect(devOptions([...FILE, "--destination-port", "0"]).destinationPort).toBe(0);
    expect(() => devOptions([...FILE, "--destination-port", "x"])).toThrow("--destination-port");
  });

  it("holds places as long as a cluster, or as told", () => {
    expect(devOptions(FILE)).toMatchObject({ claimHoldMs: 86_400_000 });
    expect(devOptions([...FILE, "--claim-hold", "0s"])).toMatchObject({ claimHoldMs: 0 });
  });

  it("reads where Services are", () => {
    const { services } = devOptions([...FILE, "--service", "shop/orders=http://127.0.0.1:3000/x=y"]);
    expect([...services]).toEqual([["shop/orders", "http://127.0.0.1:3000/x=y"]]);
  });

  it.each([
    [[], "name the manifests"],
    [[...FILE, "--port", "70000"], "--port"],
    [[...FILE, "--port", "x"], "--port"],
    [[...FILE, "--service", "orders=http://x"], "--service"],
    [[...FILE, "--service", "shop/orders=ftp://x"], "--service"],
    [[...FILE, "--claim-hold", "soon"], "--claim-hold"],
    [[...FILE, "--log-format", "xml"], "--log-format"],
    [[...FILE, "extra"], 'unexpected argument "extra"'],
  ])("refuses %j and names the flag", (argv, words) => {
    expect(() => devOptions(argv)).toThrow(UsageError);
    expect(() => devOptions(argv)).toThrow(words);
  });
});
