import { afterEach, describe, expect, it, vi } from "vitest";
import { command as gateway } from "./gateway.ts";
import { roleCommand } from "./role.ts";
import { command as worker } from "./worker.ts";

const io = { stdout: { write: () => true }, stderr: { write: () => true } };
const start = vi.fn<() => Promise<never>>(() => Promise.reject(new Error("not to be started")));
const role = roleCommand({ name: "role", summary: "a role", about: "Does something.", start });

describe("the command of a role", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("asks for its config when it is named nowhere", async () => {
    vi.stubEnv("DAVIT_CONFIG", "");
    await expect(role.run([], io)).rejects.toMatchObject({
      code: "Usage",
      message: expect.stringContaining("--config"),
    });
  });

  it("takes the config of --config before that of DAVIT_CONFIG, and starts nothing with one that cannot be used", async () => {
    vi.stubEnv("DAVIT_CONFIG", "/from/the/environment");
    const refused = (path: string) => ({ code: "Config", message: expect.stringContaining(path) as string });
    await expect(role.run([], io)).rejects.toMatchObject(refused("/from/the/environment"));
    await expect(role.run(["--config", "/from/the/flag"], io)).rejects.toMatchObject(refused("/from/the/flag"));
    expect(start).not.toHaveBeenCalled();
  });

  it.each([gateway, worker])("is described for --help: $name", ({ name, usage }) => {
    expect(usage).toContain(`davit ${name} --config FILE`);
    for (const line of usage.split("\n")) expect(line.length).toBeLessThan(150);
  });
});
