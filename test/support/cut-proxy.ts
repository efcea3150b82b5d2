import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy in front of Redis that can lose one answer. */
export interface CutProxy {
  readonly url: string;
  /** Breaks the connection that carries the next script call once the server has answered it; the answer is thrown away. */
  loseNextScriptAnswer(): void;
  stop(): Promise<void>;
}

/** Starts one in front of a port of this machine. */
export async function startCutProxy(port: number): Promise<CutProxy> {
  const sockets = new Set<Socket>();
  let armed = false;
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    let doomed = false;
    const close = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", close);
      socket.on("close", () => {
        sockets.delete(socket);
        close();
      });
    }
    client.on("data", (data: Buffer) => {
      if (armed && data.includes("evalsha")) [armed, doomed] = [false, true];
      upstream.write(data);
    });
    upstream.on("data", (data: Buffer) => {
      if (doomed) close();
      else client.write(data);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    url: `redis://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    loseNextScriptAnswer: () => {
      armed = true;
    },
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
