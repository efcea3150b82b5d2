import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { heldPort } from "../support/held-port.ts";
import { PYTHON } from "../support/python-reference.ts";
import { startRedis } from "../support/redis.ts";

// Like the system when it chooses a port, and unlike servers, Python does not set SO_REUSEADDR of its own accord.
const BIND = 'import socket, sys; socket.socket().bind(("127.0.0.1", int(sys.argv[1])))';
const isTaken = (port: number) => {
  const { status, stderr } = spawnSync(PYTHON, ["-c", BIND, String(port)], { encoding: "utf8" });
  if (status !== 0) expect(stderr).toContain("Address already in use");
  return status !== 0;
};

test("a held port is nobody else's before its server runs, while it is down and after its end, and connections to it fail", async () => {
  const port = await heldPort();
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const other = (probe.address() as { port: number }).port;
  probe.close();
  await once(probe, "close");
  expect([isTaken(other), isTaken(port)]).toEqual([false, true]);
  const redis = await startRedis({ port });
  expect(await redis.client().ping()).toBe("PONG");
  await redis.kill9();
  expect(isTaken(port)).toBe(true);
  await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  await redis.restart();
  expect(await redis.client().ping()).toBe("PONG");
  await redis.stop();
  expect(isTaken(port)).toBe(true);
});

test("no port is held twice", async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, heldPort));
  expect(new Set(ports).size).toBe(50);
});
