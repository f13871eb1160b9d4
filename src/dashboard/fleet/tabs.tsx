/** The header of the fleet pages. */
import { Tabs } from "../ui/parts.tsx";

export const FleetTabs = ({ current }: { current: string }) => (
  <>
    <h1>Fleet</h1>
    <Tabs
      label="Fleet"
      current={current}
      tabs={[
        ["/fleet", "Runners"],
        ["/fleet/tokens", "Runner tokens"],
        ["/fleet/hardware", "Hardware"],
      ]}
    />
  </>
);
