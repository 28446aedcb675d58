/** The products of a sandbox (assumed). `editable`: a scheduled order of this product can change. */
export const sandboxProducts = {
  standard: {
    id: '0b9a4c1e-3f52-4d0a-9c61-5a4db0c5a001',
    category: 'transportation',
    name: 'Standard',
    editable: true,
    editBeforeMinutes: 30,
    riders: 4,
  },
  executive: {
    id: '0b9a4c1e-3f52-4d0a-9c61-5a4db0c5a002',
    category: 'transportation',
    name: 'Executive',
    editable: false,
    editBeforeMinutes: 0,
    riders: 3,
  },
  parcel: {
    id: '0b9a4c1e-3f52-4d0a-9c61-5a4db0c5a003',
    category: 'delivery',
    name: 'Parcel',
    editable: true,
    editBeforeMinutes: 10,
    riders: 0,
  },
} as const;

export type ProductCategory = SandboxProduct['category'];
export type SandboxProduct = (typeof sandboxProducts)[keyof typeof sandboxProducts];

/** The product with this id, in any letter case. */
export const findProduct = (id: string): SandboxProduct | undefined =>
  Object.values(sandboxProducts).find((product) => product.id === id.toLowerCase());

/** One group of the answer to `products`. */
export const productBodies = (category: ProductCategory): unknown[] =>
  Object.values(sandboxProducts)
    .filter((product) => product.category === category)
    .map(({ id, name, editable, editBeforeMinutes, riders }) => ({
      product_id: id,
      name,
      description: `${name} of the sandbox`,
      price_concept: 'FIXED',
      edit_future_order_enabled: editable,
      edit_before_scheduled_at_min: editBeforeMinutes,
      riders,
    }));

/** The reference fields of the company. The settings say which of them are mandatory. */
export const sandboxReferenceFields = [
  { id: 11, title: 'Cost centre' },
  { id: 12, title: 'Project' },
] as const;
