import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Listens on a free port of 127.0.0.1 and tells the parent process which. */
export async function listen(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.send?.({ port: (server.address() as AddressInfo).port });
}
