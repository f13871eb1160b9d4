/** Turns rows into resources. No other file knows which of the two resource shapes is served. */

import { costParts, presentCost } from "../domain/money/cost.ts";
import type { PredictionRow } from "../domain/predictions/prediction-row.ts";
import { secondsText } from "../domain/predictions/state.ts";
import type { Settings } from "../env.ts";
import { DEFAULT_EGRESS } from "../protocol/egress.ts";
import { metrics } from "../protocol/event.ts";
import type { Hardware } from "../protocol/hardware.ts";
import {
  type Category,
  DEFAULT_ISOLATION,
  type FoundModel,
  type Model,
  type ModelItem,
  type Version,
  type VersionSummary,
} from "../protocol/model.ts";
import { amountText } from "../protocol/money.ts";
import type { RunnerToken, Token } from "../protocol/operator.ts";
import type {
  Collaborator,
  Member,
  Organization,
  OrganizationInvitation,
  OrganizationToken,
  Role,
} from "../protocol/organization.ts";
import { type Prediction, predictionError } from "../protocol/prediction.ts";
import type { Owner, ResourceShape, User } from "../protocol/user.ts";
import type { WebhookEndpoint } from "../protocol/webhook.ts";
import type {
  MemberRow,
  InvitationRow as OrganizationInvitationRow,
} from "../storage/accounts/organizations.ts";
import type { OrganizationTokenRow, RunnerTokenRow, TokenRow } from "../storage/accounts/tokens.ts";
import type { UserRow } from "../storage/accounts/users.ts";
import type { CategoryRow } from "../storage/models/categories.ts";
import type { CollaboratorRow } from "../storage/models/collaborators.ts";
import {
  type DetailedModelRow,
  defaultVersion,
  type ModelItemRow,
} from "../storage/models/models.ts";
import type { VersionRow, VersionSummaryRow } from "../storage/models/versions.ts";
import type { HardwareRow } from "../storage/runners/hardware.ts";
import type { EndpointSecret, WebhookEndpointRow } from "../storage/webhooks/endpoints.ts";

const timestamp = (ms: number) => new Date(ms).toISOString();

const times = (row: { created_at: number; updated_at: number }) => ({
  created_at: timestamp(row.created_at),
  updated_at: timestamp(row.updated_at),
});

const versionSummary = (row: VersionSummaryRow): VersionSummary => ({
  number: row.number,
  release_notes: row.release_notes,
  created_at: timestamp(row.created_at),
  container_image_digest: row.container_image_digest || null,
});

const version = (row: VersionRow): Version => ({
  ...versionSummary(row),
  status: row.awaits ? "awaiting_first_start" : "ready",
  schemas: row.schemas,
  compatibilities: row.compatibilities,
  size: row.size,
  // Defaults are shown explicitly, so that callers see who shares the container and what it can reach.
  configuration: { isolation: DEFAULT_ISOLATION, egress: DEFAULT_EGRESS, ...row.configuration },
});

const category = ({ name, slug, description }: CategoryRow): Category => ({
  name,
  slug,
  description,
});

const hardware = (
  { created_at, pool_made_at: _, ...row }: HardwareRow,
  currency: string,
): Hardware => ({
  ...row,
  price_per_hour: row.price_per_hour === null ? null : amountText(row.price_per_hour),
  currency,
  created_at: timestamp(created_at),
});

const token = (row: TokenRow): Token => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  created_at: timestamp(row.created_at),
  last_used_at: row.last_used_at === null ? null : timestamp(row.last_used_at),
  scopes: row.scopes,
  models: row.models?.toSorted() ?? null,
  priority: row.priority,
  expires_at: row.expires_at === null ? null : timestamp(row.expires_at),
  limits: row.limits,
});

const organizationToken = ({ maker, ...row }: OrganizationTokenRow): OrganizationToken => ({
  ...token(row),
  service_role: row.service_role,
  made_by: maker,
});

const organization = (row: UserRow, role: Role): Organization => ({
  id: row.id,
  username: row.username,
  name: row.name,
  avatar_url: row.avatar_url,
  bio: row.bio,
  urls: row.urls,
  location: row.location,
  company: row.company,
  requires_second_factor: row.requires_second_factor,
  role,
  ...times(row),
});

const organizationInvitation = (row: OrganizationInvitationRow): OrganizationInvitation => ({
  id: row.id,
  role: row.role,
  note: row.note,
  created_at: timestamp(row.created_at),
  expires_at: timestamp(row.expires_at),
});

const runnerToken = (row: RunnerTokenRow): RunnerToken => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  created_at: timestamp(row.created_at),
  last_used_at: row.last_used_at === null ? null : timestamp(row.last_used_at),
  hardware: row.hardware,
});

/** Identifies a secret without showing it. */
const webhookSecret = (row: EndpointSecret): WebhookEndpoint["secrets"][number] => ({
  id: row.id,
  created_at: timestamp(row.created_at),
});

const webhookEndpoint = (row: WebhookEndpointRow): WebhookEndpoint => ({
  id: row.id,
  url: row.url,
  description: row.description,
  events: row.events,
  enabled: row.enabled,
  secrets: row.secrets.map(webhookSecret),
  failing_since: row.failing_since === null ? null : timestamp(row.failing_since),
  last_error: row.last_error,
  notice: row.notice,
  ...times(row),
});

const costOfRow = ({ cost, cost_parts }: PredictionRow, currency: string) =>
  cost === null
    ? null
    : presentCost(
        { amount: cost, parts: costParts.parse(JSON.parse(cost_parts ?? "[]")) },
        currency,
      );

/** Presents a prediction from its row, for lists and for predictions whose data has been removed. */
const prediction = (row: PredictionRow, origin: string, currency: string): Prediction => ({
  id: row.id,
  model: { owner: row.model_owner, name: row.model_name, version_number: row.version_number },
  ...(row.deployment !== null && { deployment: row.deployment }),
  ...times(row),
  status: row.status,
  setup_time: secondsText(row.setup_time),
  execution_time: secondsText(row.execution_time),
  error: row.error === null ? null : predictionError.parse(JSON.parse(row.error)),
  metrics: row.metrics === null ? null : metrics.parse(JSON.parse(row.metrics)),
  cost: costOfRow(row, currency),
  url: `${origin}/v1/predictions/${row.id}`,
  stream: row.stream,
  created_by: row.created_by,
});

type OwnerRow = Pick<UserRow, "id" | "username" | "avatar_url" | "kind">;

const ownerShapes: Record<ResourceShape, (row: OwnerRow) => Owner> = {
  A: ({ id, username, avatar_url, kind }) => ({ id, username, avatar_url, kind }),
  B: ({ id, username, avatar_url, kind }) => ({ account_id: id, name: username, avatar_url, kind }),
};

const profile = (row: UserRow) => ({
  kind: row.kind,
  bio: row.bio,
  location: row.location,
  company: row.company,
  ...times(row),
});

const userShapes: Record<ResourceShape, (row: UserRow) => User> = {
  A: (row) => ({
    id: row.id,
    username: row.username,
    avatar_url: row.avatar_url,
    name: row.name,
    urls: row.urls,
    ...profile(row),
  }),
  B: (row) => ({
    account_id: row.id,
    name: row.username,
    avatar_url: row.avatar_url,
    display_name: row.name,
    ...profile(row),
  }),
};

const hardwareSummary = (row: Pick<HardwareRow, "identifier" | "name"> | null): Model["hardware"] =>
  row && { identifier: row.identifier, name: row.name };

const asksForHardware = (row: DetailedModelRow): boolean =>
  defaultVersion(row)?.configuration.hardware_identifier !== undefined;

export function presenters({
  resourceShape: shape,
  currency,
}: Pick<Settings, "resourceShape" | "currency">) {
  const owner = ownerShapes[shape];

  const modelItem = (row: ModelItemRow): ModelItem => ({
    id: row.id,
    name: row.name,
    ...times(row),
    visibility: row.visibility,
    description: row.description,
    owner: owner(row.owner),
    predictions_count: row.predictions_count,
    categories: row.categories.toSorted((a, b) => a.name.localeCompare(b.name)),
    cover_image_url: row.cover_image_url,
  });

  const foundModel = (row: ModelItemRow): FoundModel => ({
    ...modelItem(row),
    source_url: row.source_url,
    license_url: row.license_url,
    paper_url: row.paper_url,
  });

  const model = (row: DetailedModelRow): Model => ({
    ...foundModel(row),
    overview: row.overview,
    hardware: hardwareSummary(row.hardware ?? (asksForHardware(row) ? row.runsOn : null)),
    latest_version: row.latest_version && version(row.latest_version),
    default_version: row.pinned?.number ?? null,
  });

  const collaborator = (row: CollaboratorRow): Collaborator => ({
    account: owner(row.account),
    level: row.level,
    created_at: timestamp(row.created_at),
  });

  const member = (row: MemberRow): Member => ({
    user: owner(row.user),
    role: row.role,
    created_at: timestamp(row.created_at),
    lapses_at: row.lapses_at === null ? null : timestamp(row.lapses_at),
  });

  return {
    user: userShapes[shape],
    organization,
    organizationInvitation,
    organizationToken,
    member,
    collaborator,
    owner,
    modelItem,
    foundModel,
    model,
    version,
    versionSummary,
    category,
    hardware: (row: HardwareRow) => hardware(row, currency),
    prediction: (row: PredictionRow, origin: string) => prediction(row, origin, currency),
    token,
    runnerToken,
    webhookEndpoint,
    webhookSecret,
  };
}

export type Presenters = ReturnType<typeof presenters>;
