/**
 * Versions of one kind are numbers that grow (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions: comparable since
 * 1.35, and etcd revisions before). What is no number counts as newer: then the watch decides.
 */
export function isNewer(version: string, than: string): boolean {
  if (!/^\d+$/.test(version) || !/^\d+$/.test(than)) return version !== than;
  return version.length === than.length ? version > than : version.length > than.length;
}
