/** As a scope is written in a prefix. */
const PLACEHOLDER = "{scope}";
/** Stands for any scope. */
const ANY_SCOPE = "any-scope";
/** What a scope's name may begin with, or be. */
const SCOPE_PART = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Where the objects of a scope lie, or what else a policy names by its scope. */
export function scopePrefix(template: string, scope: string): string {
  return template.replaceAll(PLACEHOLDER, () => scope);
}

/**
 * Whether some scope's run would clean keys under a prefix, and nothing protects all of them. A push may name any scope, also one that the policy does not list.
 *
 * @param template `prefixTemplate`: one `{scope}`, as a whole segment
 * @param prefix may hold `{scope}`, as `protectedPrefixes` may
 */
export function isCleaned(template: string, prefix: string, protectedPrefixes: readonly string[]): boolean {
  const keys = scopePrefix(prefix, ANY_SCOPE);
  const scope = cleaningScope(template, keys);
  if (scope === undefined) return false;
  return !protectedPrefixes.some((one) => keys.startsWith(scopePrefix(one, scope)));
}

/** The scope whose run cleans keys that begin with `keys`; `""` when any one may. */
function cleaningScope(template: string, keys: string): string | undefined {
  const [before = "", after = ""] = template.split(PLACEHOLDER);
  if (before.startsWith(keys)) return "";
  if (!keys.startsWith(before)) return undefined;
  const [scope = "", ...segments] = keys.slice(before.length).split("/");
  const rest = segments.length === 0 ? "" : `/${segments.join("/")}`;
  const meets = SCOPE_PART.test(scope) && (after.startsWith(rest) || rest.startsWith(after));
  return meets ? scope : undefined;
}
