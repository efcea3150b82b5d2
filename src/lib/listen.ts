import type { Server } from "node:http";

/** A port that cannot be listened on. The message names it and what `remedy` says. */
export class ListenError extends Error {
  readonly code = "Listen";
}

export interface ListenOptions {
  /** 0: any free one. */
  readonly port: number;
  readonly address: string;
  /** How to choose another port, for the message. */
  readonly remedy: string;
}

/**
 * Listens.
 * @throws ListenError
 */
export function listen(server: Server, { port, address, remedy }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => {
      const why = error.code === "EADDRINUSE" ? "is in use" : `cannot be used (${error.code ?? "unknown error"})`;
      reject(new ListenError(`port ${port} ${why}: ${remedy}`));
    };
    server.once("error", refuse);
    server.listen(port, address, () => {
      server.off("error", refuse);
      resolve();
    });
  });
}

/** Port that a server listens on; 0 while it does not. */
export function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
