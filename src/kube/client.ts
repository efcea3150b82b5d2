import type { Fence } from "./fence.ts";
import type { KubeObject } from "./objects.ts";
import { ResourceClient } from "./resource-client.ts";
import type { ResourceType } from "./resource-type.ts";
import type { KubeTransport } from "./transport.ts";

/** Typed access to the objects of one API server. */
export class KubeClient {
  readonly transport: KubeTransport;
  readonly #fence: Fence | undefined;

  /** @param fence asked right before each write and each retry of one; reads go without */
  constructor(transport: KubeTransport, fence?: Fence) {
    this.transport = transport;
    this.#fence = fence;
  }

  /** The same client whose writes need `fence` to agree: what a leader's controllers use. */
  fencedBy(fence: Fence): KubeClient {
    return new KubeClient(this.transport, fence);
  }

  /** The calls for one kind. */
  resource<T extends KubeObject>(type: ResourceType<T>): ResourceClient<T> {
    return new ResourceClient(this.transport, type, this.#fence);
  }
}
