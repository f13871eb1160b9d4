/** Sample values of fields, from which the document's examples are composed. */
import { isInline, type Schemas } from "./types.ts";

const AVATAR = "https://example.com/ada.png";

const profile = {
  avatar_url: AVATAR,
  bio: "Notes on the Analytical Engine",
  location: "London",
  company: "Analytical Engines",
};

const modelItem = {
  name: "story",
  visibility: "public",
  description: "Continues a story",
  predictions_count: 1742,
  cover_image_url: "https://example.com/story.png",
};

const foundModel = {
  ...modelItem,
  source_url: "https://github.com/ada/story",
  license_url: "https://www.apache.org/licenses/LICENSE-2.0",
  paper_url: null,
};

const versionSummary = {
  number: 3,
  release_notes: "Longer stories",
  container_image_digest: `sha256:${"0123456789abcdef".repeat(4)}`,
};

const UPLOAD = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const TOKEN = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d60";
const SIGNED = "expires=1795310130&signature=Jv3c0yWm1xPq8sT5uZ7aB9dE2fG4hK6nL-oR_iQwXkY";
const ETAGS = ['"9b2cf535f27731c974343645a3985328"', '"1f3870be274f6c49b3e31a0c6728957f"'];

const partAddress = (number: number, size: number) =>
  `https://auspex.example.com/v1/uploads/${UPLOAD}/parts/${number}?size=${size}&holder=${TOKEN}&${SIGNED}`;

const MEMBERSHIP = { username: "acme", role: "owner" };
const SECRET = "ausi_VZ3Kq0mG7tB1xR5yN9cP2wD6sH8jL4fA0uE3oI7kT1Q2b3c4D5";

const machine = { name: "NVIDIA L40S", gpus: 1, cpus: 16, ram_per_gpu_gb: 48, ram_gb: 128 };

/** The samples by schema and field. */
const SAMPLES: Record<string, Record<string, unknown>> = {
  OwnerA: { username: "ada", avatar_url: AVATAR },
  OwnerB: { name: "ada", avatar_url: AVATAR },
  UserA: { username: "ada", name: "Ada Lovelace", urls: ["https://example.com/"], ...profile },
  UserB: { name: "ada", display_name: "Ada Lovelace", ...profile },
  OwnUserA: {
    username: "ada",
    name: "Ada Lovelace",
    urls: ["https://example.com/"],
    ...profile,
    organizations: [MEMBERSHIP],
  },
  OwnUserB: { name: "ada", display_name: "Ada Lovelace", ...profile, organizations: [MEMBERSHIP] },
  Organization: { ...profile, username: "acme", name: "Acme", urls: [], role: "owner" },
  Member: { role: "developer" },
  Collaborator: { level: "write" },
  NewOrganizationInvitation: {
    invitation: SECRET,
    url: `https://auspex.example.com/join/${SECRET}`,
  },
  CategorySummary: { name: "Text generation", slug: "text-generation" },
  Category: {
    name: "Text generation",
    slug: "text-generation",
    description: "Models that write text",
  },
  HardwareSummary: { identifier: "l40s", name: machine.name },
  Hardware: {
    identifier: "l40s",
    pool: "l40s",
    ...machine,
    price_per_hour: "0.8",
    currency: "USD",
    location_hint: "weur",
  },
  ModelItem: modelItem,
  FoundModel: foundModel,
  Model: { ...foundModel, overview: "# Story\n\nGive it a beginning." },
  VersionSummary: versionSummary,
  Version: { ...versionSummary, size: 1_288_490_188 },
  Upload: {
    urls: [partAddress(1, 16_777_216), partAddress(2, 3_222_784)],
    parts: [{ part_number: 1, etag: ETAGS[0] }],
    file_url: null,
  },
  UploadPart: { etag: ETAGS[0] },
  CompleteUpload: { etags: ETAGS },
  FileAddress: {
    url: `https://auspex.example.com/v1/files/${UPLOAD}/photo.png?${SIGNED}`,
  },
  Configuration: {
    hardware_identifier: "l40s",
    variable_names: ["HF_TOKEN"],
    image: "registry.example.com/ada/story",
    timeout_seconds: 600,
    idle_seconds: 300,
  },
};

export const addSamples = (schemas: Schemas): Schemas =>
  Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      const samples = SAMPLES[name];
      if (!samples || !isInline(schema) || !schema.properties) return [name, schema];
      const properties = Object.entries(schema.properties).map(([field, part]) => [
        field,
        field in samples ? { ...part, example: samples[field] } : part,
      ]);
      return [name, { ...schema, properties: Object.fromEntries(properties) }];
    }),
  );
