import type { Server, ServerOptions } from "node:http";

/** Limits of every listener that strangers reach. */
export const SERVER_OPTIONS: ServerOptions = {
  /** Larger header blocks are answered 431 by the parser, bytes. */
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  /** Longer than the idle timeout of common load balancers (60 s), else they meet closed connections. */
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
};

/** Stops listening. Idle connections are closed at once, busy ones after their answer, at the latest after `graceMs`. */
export async function closeServer(server: Server, graceMs: number): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}
