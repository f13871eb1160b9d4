/** Organisations: the roles of their members, and the levels at which models are shared. */
import { z } from "zod";
import { pageQuery, slug, timestamp, uuid } from "./common.ts";
import { createToken, DEFAULT_SCOPES, OPERATOR_SCOPES, scope, token } from "./operator.ts";
import { chosenUsername, owner, updateUser, userA, userB } from "./user.ts";

/** From the lowest to the highest. Each role may do what those before it may. */
export const ROLES = ["member", "developer", "admin", "owner"] as const;
export const role = z.enum(ROLES).meta({
  id: "Role",
  description:
    "`member`: run the private models of the organization, and see their own runs. `developer`: see all runs, and change models. `admin`: manage members, service tokens and the profile. `owner`: appoint owners, and rename or delete the organization",
});
export type Role = z.infer<typeof role>;

export const shareLevel = z.enum(["run", "write"]).meta({
  id: "ShareLevel",
  description:
    "`run`: see and run the model. `write`: publish versions, edit texts and examples, and push and pull its image as well",
});
export type ShareLevel = z.infer<typeof shareLevel>;

export const setCollaborator = z
  .strictObject({ level: shareLevel })
  .meta({ id: "SetCollaborator", example: { level: "run" } });

/** The query of GET /user/models. */
export const ownModelsQuery = pageQuery().extend({
  shared: z.enum(["true", "false"]).default("false").meta({
    description:
      "With `true`: the models that other accounts have shared with you, instead of yours",
  }),
});

/** An account, a user or an organization, that a model is shared with. */
export const collaborator = z
  .object({ account: owner, level: shareLevel, created_at: timestamp })
  .meta({ id: "Collaborator" });
export type Collaborator = z.infer<typeof collaborator>;

export const createOrganization = z
  .strictObject({ username: chosenUsername, name: z.string().max(100).default("") })
  .meta({ id: "CreateOrganization", example: { username: "acme", name: "Acme" } });
export type CreateOrganization = z.infer<typeof createOrganization>;

/** The body of an operator's call. */
export const createOrganizationFor = createOrganization
  .extend({ owner: slug.meta({ description: "Username of its first owner" }) })
  .meta({
    id: "CreateOrganizationFor",
    example: { username: "acme", name: "Acme", owner: "ada" },
  });

export const updateOrganization = updateUser
  .extend({
    requires_second_factor: z.boolean().optional().meta({
      description:
        "Whether members need a second factor: sessions begin with a passkey, OpenID Connect or an authenticator app, and tokens are of members who have one of these. You need one yourself to turn it on. Service tokens are not affected",
    }),
  })
  .meta({ id: "UpdateOrganization", example: { name: "Acme", requires_second_factor: true } });
export type UpdateOrganization = z.infer<typeof updateOrganization>;

/** An organization that the caller is a member of. */
export const organization = z
  .object({
    id: uuid,
    username: z.string(),
    name: z.string(),
    avatar_url: z.string(),
    bio: z.string(),
    urls: z.array(z.string()),
    location: z.string(),
    company: z.string(),
    requires_second_factor: z
      .boolean()
      .meta({ description: "Whether members need a second factor to act for it" }),
    role: role.meta({ description: "Your role" }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "Organization" });
export type Organization = z.infer<typeof organization>;

const memberships = {
  organizations: z
    .array(z.object({ username: z.string(), role }))
    .meta({ description: "Your organizations, with your role in each. At most 1,000" }),
};

/** The caller's own account. */
export const ownUser = z
  .union([
    userA.extend(memberships).meta({ id: "OwnUserA" }),
    userB.extend(memberships).meta({ id: "OwnUserB" }),
  ])
  .meta({ id: "OwnUser" });
export type OwnUser = z.infer<typeof ownUser>;

export const member = z
  .object({
    user: owner,
    role,
    created_at: timestamp,
    lapses_at: timestamp.nullable().meta({
      description:
        "When the membership stops unless the person logs in before, if it comes from a group of the login provider. Null: a person added the member",
    }),
  })
  .meta({ id: "Member" });
export type Member = z.infer<typeof member>;

export const setMember = z
  .strictObject({ role })
  .meta({ id: "SetMember", example: { role: "developer" } });

export const createOrganizationInvitation = z
  .strictObject({
    role: role.default("member"),
    note: z
      .string()
      .max(100)
      .default("")
      .meta({ description: "For whom it is. Only admins see it" }),
  })
  .meta({ id: "CreateOrganizationInvitation", example: { role: "developer", note: "for Ada" } });
export type CreateOrganizationInvitation = z.infer<typeof createOrganizationInvitation>;

export const organizationInvitation = z
  .object({
    id: uuid,
    role,
    note: z.string(),
    created_at: timestamp,
    expires_at: timestamp,
  })
  .meta({ id: "OrganizationInvitation" });
export type OrganizationInvitation = z.infer<typeof organizationInvitation>;

export const newOrganizationInvitation = organizationInvitation
  .extend({
    invitation: z
      .string()
      .meta({ description: "The secret of the link, shown only in this response" }),
    url: z.url().meta({ description: "The link, for one person" }),
  })
  .meta({ id: "NewOrganizationInvitation" });

export const joinOrganization = z
  .strictObject({ invitation: z.string().max(200).meta({ description: "The secret of the link" }) })
  .meta({ id: "JoinOrganization", example: { invitation: "ausi_…" } });

/** A token of the caller for the organization, or a service token. */
export const createOrganizationToken = createToken
  .extend({
    scopes: z
      .array(scope.exclude(OPERATOR_SCOPES))
      .min(1)
      .max(DEFAULT_SCOPES.length)
      .default(DEFAULT_SCOPES),
    service_role: role.nullish().meta({
      description:
        "Makes a service token with this role. It acts for nobody, and stays when its maker leaves. Requires an admin. Absent or null: the token acts for you, with the role that you have at the time",
    }),
  })
  .meta({ id: "CreateOrganizationToken", example: { name: "CI", service_role: "developer" } });
export type CreateOrganizationToken = z.infer<typeof createOrganizationToken>;

export const organizationToken = token
  .extend({
    service_role: role.nullable().meta({ description: "Null: the token of a member" }),
    made_by: z.string().nullable().meta({ description: "Username; null for a deleted user" }),
  })
  .meta({ id: "OrganizationToken" });
export type OrganizationToken = z.infer<typeof organizationToken>;
