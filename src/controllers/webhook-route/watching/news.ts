import type { Live } from "../../../kube/objects.ts";

/** Whether more than the status changed. Kinds without a status have no generation: every change of theirs is one of what they hold. */
export function isNews(next: Live, previous: Live): boolean {
  return next.metadata.generation === undefined || newsText(next) !== newsText(previous);
}

function newsText({ metadata }: Live): string {
  const { generation, labels, annotations, ownerReferences, deletionTimestamp } = metadata;
  return JSON.stringify([generation, labels, annotations, ownerReferences, deletionTimestamp]);
}
