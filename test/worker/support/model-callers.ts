/** Callers of the endpoints for one model: persons, collaborators and tokens of an organization, with what each gets. */
import type { Visibility } from "../../../src/protocol/model.ts";
import type { Role, ShareLevel } from "../../../src/protocol/organization.ts";
import { sized } from "../../support/sized.ts";
import { CALLERS, type EndpointAccess } from "./endpoint-access.ts";
import { statusFor } from "./role-rules.ts";

export interface Case {
  caller: (typeof CALLERS)[number] | `a collaborator at ${ShareLevel}` | TokenOfOrganization;
  /** The role of a token of the organization that owns the model. Undefined: a person owns it. */
  role?: Role;
  expected: (endpoint: EndpointAccess, key: string) => number;
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
  /** Whether the endpoints that give the same for every visibility are left out: private models have those. */
  onlyDiffering?: boolean;
}

const byColumn = (visibility: Visibility): Case[] =>
  CALLERS.map((caller, column) => ({
    caller,
    expected: ({ hidden, shown }) => (visibility === "private" ? hidden : shown)[column] ?? 0,
  }));

const isOwner = ({ caller }: Case) => caller === "the owner";
const isStranger = ({ caller }: Case) => caller === "a stranger";

/** A share gives what a public model gives a stranger, and more at the level `write`. */
const reading: Case = { caller: "a collaborator at run", expected: ({ shown }) => shown[1] };
const writing: Case = {
  caller: "a collaborator at write",
  expected: ({ shown, write }) => write ?? shown[1],
};

const OF_PERSONS: Callers[] = [
  {
    visibility: "private",
    cases: [
      ...byColumn("private").filter((one) => !isOwner(one)),
      reading,
      ...byColumn("private").filter(isOwner),
    ],
  },
  { visibility: "private", cases: [writing], onlyDiffering: sized(true, false) },
  // A restricted model is shown like a public one, and most callers get the same from both: a stranger stands
  // for them.
  ...(["public", "restricted"] as const).map((visibility) => {
    const all = byColumn(visibility);
    const others = all.filter((one) => !isOwner(one));
    return {
      visibility,
      cases: sized(all.filter(isStranger), [...others, ...all.filter(isOwner)]),
      onlyDiffering: sized(true, false),
    };
  }),
];

const tokenOf = (role: Role): Case => ({
  ...{ caller: `the ${role}'s token`, role },
  expected: (endpoint, key) => statusFor(role, key, endpoint),
});

const OF_ORGANIZATIONS: Case[][] = [
  [
    {
      ...{ caller: "a removed member's token", role: "owner" },
      // The signature replaces the token.
      expected: (_, key) => (key.includes("/parts/") ? 200 : 401),
    },
    {
      ...{ caller: "an OIDC member's token whose group is gone", role: "admin" },
      expected: (_, key) => (key.includes("/parts/") ? 200 : 401),
    },
    {
      ...{ caller: "the token of a member without the required second factor", role: "owner" },
      expected: (_, key) => (key.includes("/parts/") ? 200 : 403),
    },
    tokenOf("member"),
    tokenOf("admin"),
  ],
  [
    {
      ...{ caller: "a service token", role: "developer" },
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
