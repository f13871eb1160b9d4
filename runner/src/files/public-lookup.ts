/**
 * A DNS lookup that returns only permitted addresses, so that no second lookup can return another
 * one.
 */
import { lookup as resolveName } from "node:dns/promises";
import type { LookupFunction } from "node:net";

export type Resolve = (name: string) => Promise<{ address: string; family: number }[]>;

export const resolveAll: Resolve = (name) => resolveName(name, { all: true });

/**
 * @param refusal also used if the name does not exist: callers must not learn which names a network
 * has
 */
export function permittedLookup(
  lookupAll: Resolve,
  permits: (address: string) => boolean,
  refusal: () => Error,
): LookupFunction {
  return (name, { all }, done) => {
    lookupAll(name).then(
      (found) => {
        const permitted = found.filter(({ address }) => permits(address));
        const [first] = permitted;
        if (!first) done(refusal(), []);
        else if (all) done(null, permitted);
        else done(null, first.address, first.family);
      },
      (error) => done(isNotFound(error) ? refusal() : error, []),
    );
  };
}

const isNotFound = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOTFOUND";
