package types

type InvocationType string

const InvocationTypeEvent InvocationType = "Event"
