/** A host's name with at least one dot, or `*.` and such a name or a domain; no address: the last label begins with a letter. */
export const HOST_PATTERN =
  /^(?=.{1,253}$)(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$|^\*\.[a-z]([a-z0-9-]*[a-z0-9])?$/i;
