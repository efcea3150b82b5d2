import type { Pod } from "./pod-spec.ts";

/** What the fake kubelet knows of a container. */
export interface ContainerState {
  readonly isRunning: boolean;
  readonly isReady: boolean;
  readonly restarts: number;
  /** Why it does not run, e.g. `CreateContainerConfigError`. */
  readonly waiting?: string;
  readonly startedAt: string;
  readonly podIp: string;
}

/** Status of a pod on the node, as a strategic merge patch: the API server keeps what others wrote into the conditions. */
export function podStatus(pod: Pod, state: ContainerState): object {
  const now = new Date().toISOString();
  const condition = (type: string, isTrue: boolean) => ({
    type,
    status: isTrue ? "True" : "False",
    lastTransitionTime: now,
    ...(isTrue ? {} : { reason: "ContainersNotReady" }),
  });
  const running = { running: { startedAt: state.startedAt } };
  const waiting = { waiting: { reason: state.waiting ?? "ContainerCreating" } };
  return {
    phase: state.isRunning ? "Running" : "Pending",
    startTime: state.startedAt,
    hostIP: "192.0.2.1",
    podIP: state.podIp,
    podIPs: [{ ip: state.podIp }],
    conditions: [
      condition("PodScheduled", true),
      condition("Initialized", true),
      condition("ContainersReady", state.isReady),
      condition("Ready", state.isReady),
    ],
    containerStatuses: pod.spec.containers.map(({ name, image }) => ({
      name,
      image,
      imageID: image,
      ready: state.isReady,
      started: state.isRunning,
      restartCount: state.restarts,
      state: state.isRunning ? running : waiting,
    })),
  };
}
