import { connect, createServer, type Server } from "node:net";
import { freePort } from "../../src/lib/free-port.ts";

// Held ports are the local ends of connections to this one listener; neither keeps the process alive.
let anchor: Promise<number> | undefined;

function startAnchor(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server: Server = createServer((socket) => void socket.on("error", () => {}).unref());
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
    server.unref();
  });
}

/** Connects from `port` and keeps the connection. Rejects when somebody has taken the port. */
function hold(port: number, to: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port: to, localAddress: "127.0.0.1", localPort: port });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject).on("error", () => {});
      socket.unref();
      resolve();
    });
  });
}

/**
 * A TCP port on 127.0.0.1 for a server that must be told its port, or that comes back on the same one, or for no server at all.
 * Until this process ends the system gives it to nobody who asks for any port (0), whether or not its server runs: it is also the
 * local end of a connection. A server can be bound to it all the same, if it sets SO_REUSEADDR, as Redis, etcd, Kubernetes and
 * Node.js do. So test files that run at the same time do not take each other's ports.
 */
export async function heldPort(): Promise<number> {
  anchor ??= startAnchor();
  const to = await anchor;
  for (;;) {
    const port = await freePort();
    try {
      await hold(port, to);
      return port;
    } catch (error) {
      // Taken since it was found free: the next one.
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "EADDRINUSE" && code !== "EADDRNOTAVAIL") throw error;
    }
  }
}
