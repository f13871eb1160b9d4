/** `/fleet/hardware`: the hardware classes that models can name. */
import { priceText } from "../../domain/predictions/price.ts";
import { type Hardware, LOCATION_HINTS, type LocationHint } from "../../protocol/hardware.ts";
import type { Page } from "../../services/pagination.ts";
import type { Draft } from "../form.ts";
import { Problem, Select, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Empty, Pager } from "../ui/parts.tsx";
import { useCurrency } from "../ui/price.tsx";
import { FleetTabs } from "./tabs.tsx";

const LOCATION_NAMES: Record<LocationHint, string> = {
  wnam: "Western North America",
  enam: "Eastern North America",
  sam: "South America",
  weur: "Western Europe",
  eeur: "Eastern Europe",
  apac: "Asia-Pacific",
  oc: "Oceania",
  afr: "Africa",
  me: "Middle East",
};

export const HardwarePage = ({
  draft,
  page,
  edited,
}: {
  draft: Draft;
  page: Page<Hardware>;
  /** The class to edit; absent for a new one. */
  edited: Hardware | undefined;
}) => (
  <>
    <FleetTabs current="/fleet/hardware" />
    <p>
      A hardware class is a kind of machine, or a share of one. Models and versions name the class
      they run on, runners the classes they serve. Classes of one pool share a queue and machines.
    </p>
    {edited ? (
      <section aria-labelledby="edit-title">
        <h2 id="edit-title">Edit {edited.identifier}</h2>
        <ClassForm draft={draft} edited={edited} />
      </section>
    ) : (
      <details class="new-token" open={draft.values !== undefined || page.items.length === 0}>
        <summary class="button primary">New hardware class</summary>
        <ClassForm draft={draft} edited={undefined} />
      </details>
    )}
    {page.items.length === 0 ? (
      <Empty title="No hardware yet">
        <p>Create a class above, then a token for the runners that serve it.</p>
      </Empty>
    ) : (
      <List items={page.items} />
    )}
    <Pager previous={page.previous_url} next={page.next_url} />
  </>
);

const ClassForm = ({ draft, edited }: { draft: Draft; edited: Hardware | undefined }) => (
  <Form action={edited ? `/fleet/hardware/${edited.identifier}` : "/fleet/hardware"} class="narrow">
    <Problem draft={draft} />
    {!edited && (
      <TextField
        name="identifier"
        label="Identifier"
        hint="Used by models and runners. Lowercase letters and digits, separated by '.', '_' or '-'."
        placeholder="l40s"
        maxlength={63}
        autocomplete="off"
        required
        draft={draft}
      />
    )}
    <TextField
      name="name"
      label="Name"
      placeholder="NVIDIA L40S"
      maxlength={100}
      value={edited?.name ?? ""}
      autocomplete="off"
      required
      draft={draft}
    />
    <div class="two-columns">
      <NumberField whole name="gpus" label="GPUs" value={edited?.gpus ?? 0} draft={draft} />
      <NumberField
        name="ram_per_gpu_gb"
        label="GB per GPU"
        value={edited?.ram_per_gpu_gb ?? 0}
        draft={draft}
      />
      <NumberField whole name="cpus" label="CPU cores" value={edited?.cpus ?? 1} draft={draft} />
      <NumberField name="ram_gb" label="Memory, GB" value={edited?.ram_gb ?? 0} draft={draft} />
    </div>
    <TextField
      name="price_per_hour"
      label="Price per hour"
      hint={`In ${useCurrency()}, the currency of this deployment. What runs cost is counted by it.`}
      value={edited?.price_per_hour?.toString() ?? ""}
      draft={draft}
    />
    <TextField
      name="pool"
      label="Pool"
      hint="Classes of one pool share a queue and machines, such as one GPU of a machine and four. By default a class is a pool of its own. Fixed once it is used."
      value={edited?.pool ?? ""}
      maxlength={63}
      autocomplete="off"
      draft={draft}
    />
    <Select
      name="location_hint"
      label="Location"
      hint="Choose where its runners are. The queue of its pool is made there, and cannot be moved once it is used."
      value={edited?.location_hint ?? ""}
      options={[
        { value: "", label: "Near the first runner or caller" },
        ...LOCATION_HINTS.map((value) => ({ value, label: LOCATION_NAMES[value] })),
      ]}
      draft={draft}
    />
    <div class="flow actions">
      <Submit>{edited ? "Save" : "Create class"}</Submit>
      {edited && (
        <a class="button quiet" href="/fleet/hardware">
          Cancel
        </a>
      )}
    </div>
  </Form>
);

/** `type="number"` accepts whole numbers only. */
const NumberField = ({
  value,
  whole = false,
  ...field
}: {
  name: string;
  label: string;
  value: number;
  draft: Draft;
  whole?: boolean;
}) => (
  <TextField
    {...field}
    value={String(value)}
    required
    {...(whole && { type: "number" as const, min: "0" })}
  />
);

const List = ({ items }: { items: Hardware[] }) => (
  <ul class="rows">
    {items.map((one) => (
      <li>
        <div>
          <strong>{one.identifier}</strong> {one.name !== one.identifier && <bdi>{one.name}</bdi>}
          <small>{summaryOf(one)}</small>
        </div>
        <div class="row-actions">
          <a
            class="button quiet"
            href={`/fleet/hardware/${one.identifier}`}
            aria-label={`Edit ${one.identifier}`}
          >
            Edit
          </a>
          <Form
            action={`/fleet/hardware/${one.identifier}/delete`}
            data-confirm={`Delete hardware class ${one.identifier}?`}
          >
            <button type="submit" class="danger" aria-label={`Delete ${one.identifier}`}>
              Delete
            </button>
          </Form>
        </div>
      </li>
    ))}
  </ul>
);

const summaryOf = (one: Hardware) => {
  const { gpus, ram_per_gpu_gb, cpus, ram_gb, price_per_hour, location_hint } = one;
  const { identifier, pool, currency } = one;
  return [
    gpus > 0 &&
      `${gpus} ${gpus === 1 ? "GPU" : "GPUs"}${ram_per_gpu_gb > 0 ? ` of ${ram_per_gpu_gb} GB` : ""}`,
    `${cpus} ${cpus === 1 ? "core" : "cores"}`,
    ram_gb > 0 && `${ram_gb} GB`,
    price_per_hour !== null && `${priceText(price_per_hour, currency)} per hour`,
    location_hint !== null && LOCATION_NAMES[location_hint],
    pool !== identifier && `pool ${pool}`,
  ]
    .filter(Boolean)
    .join(", ");
};
