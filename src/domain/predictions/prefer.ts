/** The `Prefer` header (RFC 7240): `wait`, `wait=<seconds>` and `cancel`. Anything else is ignored. */

export interface Preference {
  /** The seconds of `wait`, at most the maximum; the default for a bare `wait`. */
  waitSeconds?: number;
  cancel: boolean;
}

/** A longer header is ignored. */
const MAX_CHARS = 1_000;

/** @param header several are joined by commas, as Headers.get does */
export function parsePrefer(
  header: string | undefined,
  limits: { default?: number; max: number },
): Preference {
  const preference: Preference = { cancel: false };
  if (header === undefined || header.length > MAX_CHARS) return preference;
  let waitSeen = false;
  for (const part of splitOutsideQuotes(header)) {
    const [name = "", value] =
      part
        .split(";", 1)[0]
        ?.split("=", 2)
        .map((text) => text.trim()) ?? [];
    switch (name.toLowerCase()) {
      case "wait": {
        if (waitSeen) break; // RFC 7240, 2: of a repeated preference the first counts.
        waitSeen = true;
        const seconds = value === undefined || value === '""' ? undefined : unquote(value);
        if (seconds === undefined) preference.waitSeconds = limits.default;
        else if (/^\d{1,9}$/.test(seconds))
          preference.waitSeconds = Math.min(Number(seconds), limits.max);
        break;
      }
      case "cancel":
        preference.cancel = true;
    }
  }
  return preference;
}

/** The `Preference-Applied` header; undefined when no preference is honored. */
export function preferenceApplied({ waitSeconds, cancel }: Preference): string | undefined {
  if (waitSeconds === undefined) return undefined;
  return cancel ? `wait=${waitSeconds}, cancel` : `wait=${waitSeconds}`;
}

const splitOutsideQuotes = (header: string) =>
  header.match(/(?:"(?:\\.|[^"\\])*"|[^,"]|")+/g) ?? [];

const unquote = (value: string) => /^"(.*)"$/.exec(value)?.[1]?.replace(/\\(.)/g, "$1") ?? value;
