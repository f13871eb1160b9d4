/** The header of the fleet pages. */
import { Tabs } from "../ui/parts.tsx";

const PAGES = [
  { address: "/fleet", tab: "Runners", title: "Fleet" },
  { address: "/fleet/tokens", tab: "Runner tokens", title: "Runner tokens" },
  { address: "/fleet/hardware", tab: "Hardware", title: "Hardware" },
] as const;

export const FleetTabs = ({ current }: { current: (typeof PAGES)[number]["address"] }) => (
  <>
    <h1>{PAGES.find(({ address }) => address === current)?.title}</h1>
    <Tabs
      label="Fleet"
      current={current}
      tabs={PAGES.map(({ address, tab }) => [address, tab] as const)}
    />
  </>
);
