// A worker of the SDK as a process of its own: prints what it does, and after SIGUSR2 lets its handler return, closes, and has to end by itself.
import { createWorker } from "../../src/sdk/index.ts";

let finish = (): void => undefined;
const finished = new Promise<void>((resolve) => (finish = resolve));
const worker = createWorker(
  async () => {
    process.stdout.write("handling\n");
    await finished;
  },
  { timeout: "3s", concurrency: 2 },
);
await worker.start();
process.once("SIGUSR2", () => {
  finish();
  void worker.close().then(() => process.stdout.write("closed\n"));
});
process.stdout.write("started\n");
