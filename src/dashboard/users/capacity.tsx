/** Grants of an account on its page: how many containers it may keep running, and the form that sets one. */
import { type CapacityGrant, putCapacityGrant } from "../../protocol/deployment.ts";
import type { Hardware } from "../../protocol/hardware.ts";
import { parse } from "../../routes/router.ts";
import { setGrant } from "../../services/deployments/grants.ts";
import type { Services } from "../../services/services.ts";
import { type Draft, fieldText } from "../form.ts";
import { Select, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Table } from "../ui/table.tsx";

export interface Capacity {
  grants: CapacityGrant[];
  /** All classes, of which the form offers one. */
  hardware: Hardware[];
}

export const CapacitySection = ({
  username,
  capacity: { grants, hardware },
  draft,
}: {
  username: string;
  capacity: Capacity;
  draft: Draft;
}) => (
  <section aria-labelledby="capacity">
    <h2 id="capacity">Capacity</h2>
    <p class="hint">
      How many containers the deployments of this account may keep running. They are never stopped
      for the models of others. <a href="/docs/deployments#for-operators">About capacity</a>
    </p>
    {grants.length > 0 && <Grants grants={grants} />}
    <Form action={`/users/${username}/capacity`} draft={draft} class="narrow spaced">
      <Select
        name="hardware"
        label="Hardware class"
        options={hardware.map(({ identifier }) => ({ value: identifier, label: identifier }))}
        required
      />
      <TextField name="instances" label="Containers" type="number" min="0" required />
      <Submit kind="quiet">Grant</Submit>
    </Form>
  </section>
);

const Grants = ({ grants }: { grants: CapacityGrant[] }) => (
  <Table
    class="stacked"
    aria-labelledby="capacity"
    columns={[
      "Hardware class",
      { name: "Granted", is: "number" },
      { name: "Claimed by deployments", is: "number" },
    ]}
  >
    {grants.map(({ hardware, instances, claimed }) => (
      <tr>
        <th scope="row">{hardware}</th>
        <td class="number" data-label="Granted">
          {instances}
        </td>
        <td class="number" data-label="Claimed by deployments">
          {claimed}
        </td>
      </tr>
    ))}
  </Table>
);

/** Sets the grant of a form. @throws ValidationFailure, ProblemError not_found */
export function grantCapacity(
  services: Services,
  username: string,
  form: FormData,
): Promise<CapacityGrant> {
  const typed = fieldText(form, "instances").trim();
  const { instances } = parse(
    putCapacityGrant,
    { instances: typed === "" ? undefined : Number(typed) },
    "body",
  );
  return setGrant(services, username, fieldText(form, "hardware"), instances);
}
