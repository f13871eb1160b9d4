/** The audit log: who changed what, and what operators looked up. The shape follows WorkOS. */
import { z } from "zod";
import { json, orNull, pageQuery, timestamp, uuid } from "./common.ts";

/** The actions and their meaning, as the audit log page lists them. */
export const AUDIT_ACTIONS = {
  "user.created": "An account was created",
  "user.updated": "A profile, or its picture, was changed",
  "user.deleted": "An account was deleted",
  "user.exported": "An account was exported",
  "user.signed_in": "Someone logged in",
  "user.signed_out": "Someone logged out",
  "user.recovered": "A recovery link set a new password",
  "user.suspended": "An operator suspended an account",
  "user.restored": "An operator restored a suspended account",
  "user.viewed": "An operator looked up an account",
  "username.released": "An operator released a former username",
  "password.updated": "A password was changed",
  "identity.linked": "GitHub or single sign-on was linked to an account",
  "identity.unlinked": "GitHub or single sign-on was unlinked from an account",
  "passkey.created": "A passkey was added",
  "passkey.deleted": "A passkey was removed",
  "second_factor.enabled": "A second factor was turned on",
  "second_factor.disabled": "A second factor was turned off",
  "recovery_codes.created": "New recovery codes were created",
  "session.revoked": "A session was ended by its user",
  "token.created": "An access token was created",
  "token.updated": "The limits of an access token were changed",
  "token.revoked": "An access token was revoked",
  "budget.created": "A budget was created",
  "budget.updated": "A budget was changed",
  "budget.deleted": "A budget was deleted",
  "organization.created": "An organization was created",
  "organization.updated": "An organization was changed",
  "organization.deleted": "An organization was deleted",
  "member.added": "Someone joined an organization",
  "member.updated": "The role of a member was changed",
  "member.removed": "A member was removed, or left",
  "invitation.created": "An invitation was created",
  "invitation.revoked": "An invitation was withdrawn",
  "operator.appointed": "A user became an operator",
  "operator.demoted": "A user is no longer an operator",
  "operator_token.used": "A request was authenticated with OPERATOR_TOKEN",
  "model.created": "A model was created",
  "model.updated": "A model was changed",
  "model.deleted": "A model was deleted",
  "version.created": "A version was published",
  "version.priced": "The prices of a version were set",
  "version.deleted": "A version was deleted",
  "deployment.created": "A deployment was created",
  "deployment.updated": "A deployment has a new release",
  "deployment.deleted": "A deployment was deleted",
  "capacity.granted": "An operator set what an account may keep running of a hardware class",
  "image.deleted": "An image was deleted from the registry",
  "variable.set": "A variable was set. Its value is not recorded",
  "variable.deleted": "A variable was deleted",
  "example.created": "An example was pinned to a model",
  "example.updated": "An example was changed",
  "example.deleted": "An example was unpinned",
  "collaborator.added": "A model was shared with an account",
  "collaborator.updated": "The level of a share was changed",
  "collaborator.removed": "A share ended",
  "link.created": "A link to a prediction was created",
  "link.revoked": "A link to a prediction was revoked",
  "webhook_endpoint.created": "A webhook endpoint was created",
  "webhook_endpoint.updated": "A webhook endpoint, or its secret, was changed",
  "webhook_endpoint.deleted": "A webhook endpoint was deleted",
  "category.created": "A category was created",
  "category.updated": "A category was changed",
  "category.deleted": "A category was deleted",
  "hardware.created": "A hardware class was created",
  "hardware.updated": "A hardware class, or its price, was changed",
  "hardware.deleted": "A hardware class was deleted",
  "runner_token.created": "A runner token was created",
  "runner_token.revoked": "A runner token was revoked",
  "runner.drained": "A runner was drained",
  "runner.resumed": "A runner was resumed",
  "runner.removed": "A runner was removed",
  "runner.log_requested": "An operator read the log of a runner",
  "alert.silenced": "An operator silenced an alert, or ended its silence",
  "prediction.viewed": "An operator looked up a prediction",
  "backup.read": "A part of a backup was downloaded",
  "backup.restored": "A backup was restored",
  "audit.exported": "The audit log was exported",
} as const;

export type AuditAction = keyof typeof AUDIT_ACTIONS;

const ID = "019ab4c2-7f31-7d52-8e0b-5a1c9e42d7f0";

export const auditActor = z
  .object({
    type: z.enum(["user", "service_token", "operator", "operator_token", "system"]).meta({
      description:
        "`operator`: a user who acted as an operator. `operator_token`: someone with OPERATOR_TOKEN. `system`: Auspex itself",
    }),
    id: z.string().meta({ example: ID }),
    name: z.string().meta({ description: "The name at that time", example: "ada" }),
  })
  .meta({ id: "AuditActor" });
export type AuditActor = z.infer<typeof auditActor>;

export const auditTarget = z
  .object({
    type: z.string().meta({ example: "model" }),
    id: z.string().meta({ example: ID }),
    name: z.string().meta({ description: "The name at that time", example: "ada/story" }),
  })
  .meta({ id: "AuditTarget" });
export type AuditTarget = z.infer<typeof auditTarget>;

export const auditContext = z
  .object({
    ip: z.string().optional(),
    user_agent: z.string().optional(),
    token_id: z.string().optional().meta({ description: "The access token of the request" }),
    session_id: z.string().optional().meta({ description: "The dashboard session of the request" }),
    request_id: z.string().optional(),
  })
  .meta({
    id: "AuditContext",
    description:
      "Where a change came from. An address is not recorded where an operator acts on another account",
  });
export type AuditContext = z.infer<typeof auditContext>;

const fields = z.record(z.string(), json);

export const auditChanges = z
  .object({ before: fields, after: fields })
  .meta({ id: "AuditChanges", description: "The changed fields. Secrets are left out" });
export type AuditChanges = z.infer<typeof auditChanges>;

export const auditEvent = z
  .object({
    id: uuid.meta({ example: ID }),
    action: z.string().meta({ example: "model.updated" }),
    occurred_at: timestamp,
    account_id: z
      .string()
      .nullable()
      .meta({ description: "The account that it concerns; null for the deployment", example: ID }),
    actor: auditActor,
    targets: z.array(auditTarget),
    context: auditContext,
    changes: orNull(auditChanges),
    sequence: z.int().nullable().meta({
      description: "Its number in the chain; null until it is added, which takes up to a minute",
      example: 42,
    }),
    hash: z.string().nullable().meta({
      description: "SHA-256 of the entry and the hash before it, in hexadecimal; null until then",
      example: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    }),
  })
  .meta({ id: "AuditEvent" });
export type AuditEvent = z.infer<typeof auditEvent>;

/** A line of an export, which ends with `end` if it is complete. */
export const auditExportLine = z.union([
  auditEvent,
  z
    .object({ type: z.literal("end"), entries: z.int().meta({ example: 42 }) })
    .meta({ id: "AuditExportEnd" }),
]);
export type AuditExportLine = z.infer<typeof auditExportLine>;

const filters = {
  action: z
    .string()
    .regex(/^[a-z_]+\.(?:\*|[a-z_]+)$/, "Use an action such as model.updated, or model.*")
    .optional()
    .meta({ description: "An action, or all of a kind: `model.*`", example: "model.*" }),
  actor: z.string().max(100).optional().meta({ description: "Name or ID of the actor" }),
  target: z.string().max(200).optional().meta({ description: "Name or ID of a target" }),
  after: timestamp.optional().meta({ description: "Entries since then" }),
  before: timestamp.optional().meta({ description: "Entries before then" }),
};

export const auditFilter = z.strictObject(filters);
export type AuditFilter = z.infer<typeof auditFilter>;

export const auditQuery = pageQuery(100).extend(filters);

const account = z.string().max(63).optional().meta({
  description: "Username of an account, or its ID, which deleted accounts have as well",
  example: "ada",
});

export const operatorAuditFilter = auditFilter.extend({ account });
export const operatorAuditQuery = auditQuery.extend({ account });

export const auditVerification = z
  .object({
    valid: z.boolean().meta({ description: "Whether nothing was changed, added or removed" }),
    entries: z.int().meta({ description: "Entries of the chain that were checked", example: 42 }),
    pending: z.int().meta({ description: "Entries that are not yet in the chain", example: 1 }),
    head: orNull(
      z.object({ sequence: z.int().meta({ example: 42 }), hash: z.string() }).meta({
        id: "AuditHead",
        description: "The newest entry. Keep it elsewhere: a later chain must contain it",
      }),
    ),
    problem: z
      .string()
      .nullable()
      .meta({ description: "What was found first, if the chain is not valid", example: null }),
  })
  .meta({ id: "AuditVerification" });
export type AuditVerification = z.infer<typeof auditVerification>;
