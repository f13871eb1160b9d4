/** A prediction's specification, for tests of the rules. */
import type { PredictionSpec } from "../../../src/domain/predictions/state.ts";

export const NOW = Date.UTC(2026, 10, 20);
export const SECRET = "0199c0de-0000-4000-8000-000000000000";

export const specWith = (changes: Partial<PredictionSpec> = {}): PredictionSpec => ({
  id: "019a0000-0000-7000-8000-000000000001",
  url: "https://auspex.test/v1/predictions/019a0000-0000-7000-8000-000000000001",
  user_id: "019a0000-0000-7000-8000-000000000002",
  account_object: "a".repeat(64),
  token_id: "019a0000-0000-7000-8000-000000000004",
  token_name: "CI",
  model_id: "019a0000-0000-7000-8000-000000000003",
  model_owner_id: "019a0000-0000-7000-8000-000000000005",
  model: { owner: "ada", name: "story", version_number: 1 },
  hardware: { identifier: "cpu", pool: "cpu", gpus: 0 },
  price_per_hour: null,
  priority: "normal",
  image: { repository: "registry.example.com/ada/story", digest: `sha256:${"a".repeat(64)}` },
  keys: { container: "c", files: "f" },
  egress: "public",
  interface: "cog",
  call: null,
  variables: {},
  setup_logs: false,
  measure: false,
  limits: { idle_seconds: 300, max_concurrency: 1, output_bytes: 1_000, logs_bytes: 1_000 },
  files: [],
  stored_input: null,
  stream: false,
  webhook: null,
  endpoints: [],
  created_at: NOW,
  timeout_seconds: 1_800,
  setup_timeout_seconds: 600,
  queue_timeout_seconds: 3_600,
  retention_seconds: 86_400,
  cancel_at: null,
  claim: null,
  row_held: false,
  object_number: 1,
  ...changes,
});
