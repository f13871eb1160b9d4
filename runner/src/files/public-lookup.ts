/** What connections are made to, so that no second look-up of a name can say something else. */
import { lookup as resolveName } from "node:dns/promises";
import type { LookupFunction } from "node:net";

export type Resolve = (name: string) => Promise<{ address: string; family: number }[]>;

export const resolveAll: Resolve = (name) => resolveName(name, { all: true });

/** @param refusal the same for a name that there is not: who asks is not to learn a network's names */
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
