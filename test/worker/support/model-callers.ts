/** Callers of the endpoints for one model: persons, collaborators and tokens of an organization, with what each gets. */
import type { Visibility } from "../../../src/protocol/model.ts";
import type { Role, ShareLevel } from "../../../src/protocol/organization.ts";
import { sized } from "../../support/sized.ts";
import { CALLERS, ENDPOINT_ACCESS, type EndpointAccess } from "./endpoint-access.ts";
import { statusFor } from "./role-rules.ts";

export interface Case {
  caller: (typeof CALLERS)[number] | `a collaborator at ${ShareLevel}` | TokenOfOrganization;
  /** The role of a token of the organization that owns the model. Undefined: a person owns it. */
  role?: Role;
  expected: (endpoint: EndpointAccess, key: string) => number;
  /** Absent: the caller tries all endpoints. */
  only?: Part | undefined;
}

/**
 * The endpoints that a caller tries: those that give something else for another visibility (private models have
 * the others), or the first of each kind.
 */
type Part = "differing" | "kinds";

const KINDS = sized<Part | undefined>("kinds", undefined);
const DIFFERING = sized<Part | undefined>("differing", undefined);

export function endpointsFor({ only, expected }: Case): [string, EndpointAccess][] {
  const all = Object.entries(ENDPOINT_ACCESS);
  if (only === "differing")
    return all.filter(
      ([, { hidden, shown, write }]) => write !== undefined || hidden[1] !== shown[1],
    );
  if (only === undefined) return all;
  const firsts = new Map<string, [string, EndpointAccess]>();
  for (const [key, endpoint] of all) {
    const [method] = key.split(" ");
    const kind = JSON.stringify([method, endpoint, expected(endpoint, key)]);
    if (!firsts.has(kind)) firsts.set(kind, [key, endpoint]);
  }
  return [...firsts.values()];
}

type TokenOfOrganization =
  | `the ${Role}'s token`
  | "a service token"
  | "a removed member's token"
  | "the token of a member without the required second factor"
  | "an OIDC member's token whose group is gone";

/** Callers of the endpoints for one model. Only the last one may change it. */
interface Callers {
  visibility: Visibility;
  cases: Case[];
}

const byColumn = (visibility: Visibility): Case[] =>
  CALLERS.map((caller, column) => ({
    caller,
    only: visibility === "private" ? undefined : DIFFERING,
    expected: ({ hidden, shown }) => (visibility === "private" ? hidden : shown)[column] ?? 0,
  }));

const isOwner = ({ caller }: Case) => caller === "the owner";
const isStranger = ({ caller }: Case) => caller === "a stranger";
const isOtherModels = ({ caller }: Case) => caller === "a token for another model";

/** A share gives what a public model gives a stranger, and more at the level `write`. */
const reading: Case = {
  caller: "a collaborator at run",
  only: KINDS,
  expected: ({ shown }) => shown[1],
};
const writing: Case = {
  caller: "a collaborator at write",
  only: DIFFERING,
  expected: ({ shown, write }) => write ?? shown[1],
};

const OF_PERSONS: Callers[] = [
  {
    visibility: "private",
    cases: [
      ...byColumn("private")
        .filter((one) => !isOwner(one))
        .map((one) => (isOtherModels(one) ? { ...one, only: KINDS } : one)),
      reading,
      ...byColumn("private").filter(isOwner),
    ],
  },
  { visibility: "private", cases: [writing] },
  // A restricted model is shown like a public one, and most callers get the same from both: a stranger stands
  // for them.
  ...(["public", "restricted"] as const).map((visibility) => {
    const all = byColumn(visibility);
    const others = all.filter((one) => !isOwner(one));
    return {
      visibility,
      cases: sized(all.filter(isStranger), [...others, ...all.filter(isOwner)]),
    };
  }),
];

const tokenOf = (role: Role, only?: Part): Case => ({
  ...{ caller: `the ${role}'s token`, role, only },
  expected: (endpoint, key) => statusFor(role, key, endpoint),
});

const OF_ORGANIZATIONS: Case[][] = [
  [
    {
      ...{ caller: "a removed member's token", role: "owner", only: KINDS },
      // The signature replaces the token.
      expected: (_, key) => (key.includes("/parts/") ? 200 : 401),
    },
    {
      ...{ caller: "an OIDC member's token whose group is gone", role: "admin", only: KINDS },
      expected: (_, key) => (key.includes("/parts/") ? 200 : 401),
    },
    {
      ...{
        caller: "the token of a member without the required second factor",
        role: "owner",
        only: KINDS,
      },
      expected: (_, key) => (key.includes("/parts/") ? 200 : 403),
    },
    tokenOf("member"),
    tokenOf("admin", KINDS),
  ],
  [
    {
      ...{ caller: "a service token", role: "developer", only: KINDS },
      // A service token acts for nobody who could have a token.
      expected: (endpoint, key) =>
        /^POST .*\/tokens$/.test(key) ? 403 : statusFor("developer", key, endpoint),
    },
  ],
  // The service token is a developer's. An owner's token may do little more than an admin's, so its case runs at night.
  ...sized([], [[tokenOf("developer")], [tokenOf("owner")]]),
];

export const MODEL_CALLERS: (Callers & { callers: string })[] = [
  ...OF_PERSONS,
  ...OF_ORGANIZATIONS.map((cases): Callers => ({ visibility: "private", cases })),
].map((one) => ({ ...one, callers: one.cases.map(({ caller }) => caller).join(", ") }));
