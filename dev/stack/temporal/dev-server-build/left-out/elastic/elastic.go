// Package elastic stands in for the client of Elasticsearch: no client can be made, so nothing gets as far as a request. Its queries hold
// nothing and refuse to be sent.
package elastic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"
)

var errLeftOut = errors.New("Elasticsearch is left out of this development server")

type (
	Client           struct{}
	ClientOptionFunc func(*Client) error
	Decoder          any
	NumberDecoder    struct{}
	Retrier          any
	Backoff          any
	Logger           interface {
		Printf(format string, values ...any)
	}
)

func option(*Client) error { return errLeftOut }

func NewClient(...ClientOptionFunc) (*Client, error)          { return nil, errLeftOut }
func (*Client) Start()                                        {}
func (*Client) Stop()                                         {}
func SetURL(...string) ClientOptionFunc                       { return option }
func SetBasicAuth(user, password string) ClientOptionFunc     { return option }
func SetHealthcheck(bool) ClientOptionFunc                    { return option }
func SetSniff(bool) ClientOptionFunc                          { return option }
func SetRetrier(Retrier) ClientOptionFunc                     { return option }
func SetDecoder(Decoder) ClientOptionFunc                     { return option }
func SetGzip(bool) ClientOptionFunc                           { return option }
func SetHttpClient(*http.Client) ClientOptionFunc             { return option }
func SetErrorLog(Logger) ClientOptionFunc                     { return option }
func SetInfoLog(Logger) ClientOptionFunc                      { return option }
func SetTraceLog(Logger) ClientOptionFunc                     { return option }
func NewBackoffRetrier(Backoff) Retrier                       { return nil }
func NewExponentialBackoff(first, most time.Duration) Backoff { return nil }
func IsNotFound(any) bool                                     { return false }

// Answers.

type (
	Acknowledged struct{ Acknowledged bool }
	GetResult    struct {
		Id     string
		Found  bool
		Source json.RawMessage
	}
	SearchHit struct {
		Id     string
		Source json.RawMessage
		Sort   []any
	}
	SearchHits struct {
		Hits []*SearchHit
	}
	Aggregations map[string]json.RawMessage
	SearchResult struct {
		Hits         *SearchHits
		Aggregations Aggregations
	}
	Health                     struct{ Status string }
	Response                   struct{ Body json.RawMessage }
	CatIndicesResponse         []any
	IndicesGetSettingsResponse struct{}
	PerformRequestOptions      struct {
		Method, Path, ContentType string
		Params                    url.Values
		Body                      any
		Headers                   http.Header
	}
	ErrorDetails struct {
		Type, Reason string
		RootCause    []*ErrorDetails
	}
	Error struct {
		error
		Status  int
		Details *ErrorDetails
	}
	BulkResponseItem struct {
		Index, Type, Id string
		Status          int
		Error           *ErrorDetails
	}
	BulkResponse struct {
		Took  int
		Items []map[string]*BulkResponseItem
	}
)

// Request is every kind of request, with the answer it never gets.
type Request[T any] struct{}

func (r *Request[T]) Index(...string) *Request[T]            { return r }
func (r *Request[T]) Id(string) *Request[T]                  { return r }
func (r *Request[T]) Query(Query) *Request[T]                { return r }
func (r *Request[T]) SearchSource(*SearchSource) *Request[T] { return r }
func (r *Request[T]) BodyJson(any) *Request[T]               { return r }
func (r *Request[T]) BodyString(string) *Request[T]          { return r }
func (r *Request[T]) Version(any) *Request[T]                { return r }
func (r *Request[T]) VersionType(string) *Request[T]         { return r }
func (r *Request[T]) WaitForYellowStatus() *Request[T]       { return r }
func (r *Request[T]) Do(context.Context) (none T, err error) { return none, errLeftOut }

type PingRequest struct{}

func (PingRequest) Do(context.Context) (any, int, error) { return nil, 0, errLeftOut }

func (*Client) Get() *Request[*GetResult]                          { return nil }
func (*Client) Search(...string) *Request[*SearchResult]           { return nil }
func (*Client) Count(...string) *Request[int64]                    { return nil }
func (*Client) PutMapping() *Request[*Acknowledged]                { return nil }
func (*Client) ClusterHealth() *Request[*Health]                   { return nil }
func (*Client) CreateIndex(string) *Request[*Acknowledged]         { return nil }
func (*Client) CatIndices() *Request[CatIndicesResponse]           { return nil }
func (*Client) IndexPutTemplate(string) *Request[*Acknowledged]    { return nil }
func (*Client) IndexExists(...string) *Request[bool]               { return nil }
func (*Client) DeleteIndex(...string) *Request[*Acknowledged]      { return nil }
func (*Client) IndexPutSettings(...string) *Request[*Acknowledged] { return nil }
func (*Client) IndexGetSettings(...string) *Request[map[string]*IndicesGetSettingsResponse] {
	return nil
}
func (*Client) Delete() *Request[any]                { return nil }
func (*Client) Ping(string) PingRequest              { return PingRequest{} }
func (*Client) Bulk() *BulkService                   { return nil }
func (*Client) BulkProcessor() *BulkProcessorService { return nil }
func (*Client) PerformRequest(context.Context, PerformRequestOptions) (*Response, error) {
	return nil, errLeftOut
}

// Requests in bulk.

type (
	BulkableRequest interface {
		Source() ([]string, error)
		String() string
	}
	BulkRequest          struct{}
	BulkBeforeFunc       func(executionId int64, requests []BulkableRequest)
	BulkAfterFunc        func(executionId int64, requests []BulkableRequest, response *BulkResponse, err error)
	BulkService          struct{}
	BulkProcessor        struct{}
	BulkProcessorService struct{}
)

func NewBulkIndexRequest() *BulkRequest                { return &BulkRequest{} }
func NewBulkDeleteRequest() *BulkRequest               { return &BulkRequest{} }
func (r *BulkRequest) Index(string) *BulkRequest       { return r }
func (r *BulkRequest) Id(string) *BulkRequest          { return r }
func (r *BulkRequest) Version(int64) *BulkRequest      { return r }
func (r *BulkRequest) VersionType(string) *BulkRequest { return r }
func (r *BulkRequest) Doc(any) *BulkRequest            { return r }
func (*BulkRequest) Source() ([]string, error)         { return nil, errLeftOut }
func (*BulkRequest) String() string                    { return errLeftOut.Error() }

func (*BulkService) Add(...BulkableRequest) *BulkService       { return nil }
func (*BulkService) NumberOfActions() int                      { return 0 }
func (*BulkService) Do(context.Context) (*BulkResponse, error) { return nil, errLeftOut }

func (*BulkProcessor) Add(BulkableRequest) {}
func (*BulkProcessor) Flush() error        { return errLeftOut }
func (*BulkProcessor) Stop() error         { return errLeftOut }

func (s *BulkProcessorService) Name(string) *BulkProcessorService                 { return s }
func (s *BulkProcessorService) Workers(int) *BulkProcessorService                 { return s }
func (s *BulkProcessorService) BulkActions(int) *BulkProcessorService             { return s }
func (s *BulkProcessorService) BulkSize(int) *BulkProcessorService                { return s }
func (s *BulkProcessorService) FlushInterval(time.Duration) *BulkProcessorService { return s }
func (s *BulkProcessorService) Before(BulkBeforeFunc) *BulkProcessorService       { return s }
func (s *BulkProcessorService) After(BulkAfterFunc) *BulkProcessorService         { return s }
func (s *BulkProcessorService) RetryItemStatusCodes(...int) *BulkProcessorService { return s }
func (*BulkProcessorService) Do(context.Context) (*BulkProcessor, error)          { return nil, errLeftOut }

// Queries.

type (
	Query       interface{ Source() (any, error) }
	Aggregation interface{ Source() (any, error) }
	Sorter      interface{ Source() (any, error) }
)

// nothing is what each query, order and group comes to.
type nothing struct{}

func (nothing) Source() (any, error) { return nil, errLeftOut }

type (
	BoolQuery        struct{ nothing }
	RangeQuery       struct{ nothing }
	FieldSort        struct{ nothing }
	SortByDoc        struct{ nothing }
	TermsAggregation struct{ nothing }
	SearchSource     struct{ nothing }
)

func NewBoolQuery() *BoolQuery                                                   { return &BoolQuery{} }
func (q *BoolQuery) Filter(...Query) *BoolQuery                                  { return q }
func (q *BoolQuery) Should(...Query) *BoolQuery                                  { return q }
func (q *BoolQuery) MustNot(...Query) *BoolQuery                                 { return q }
func (q *BoolQuery) MinimumNumberShouldMatch(int) *BoolQuery                     { return q }
func (q *BoolQuery) MinimumShouldMatch(string) *BoolQuery                        { return q }
func NewRangeQuery(string) *RangeQuery                                           { return &RangeQuery{} }
func (q *RangeQuery) Gt(any) *RangeQuery                                         { return q }
func (q *RangeQuery) Gte(any) *RangeQuery                                        { return q }
func (q *RangeQuery) Lt(any) *RangeQuery                                         { return q }
func (q *RangeQuery) Lte(any) *RangeQuery                                        { return q }
func NewExistsQuery(string) Query                                                { return nothing{} }
func NewMatchQuery(string, any) Query                                            { return nothing{} }
func NewPrefixQuery(string, string) Query                                        { return nothing{} }
func NewTermQuery(string, any) Query                                             { return nothing{} }
func NewTermsQuery(string, ...any) Query                                         { return nothing{} }
func NewFieldSort(string) *FieldSort                                             { return &FieldSort{} }
func (s *FieldSort) Asc() *FieldSort                                             { return s }
func (s *FieldSort) Desc() *FieldSort                                            { return s }
func (s *FieldSort) Missing(any) *FieldSort                                      { return s }
func NewTermsAggregation() *TermsAggregation                                     { return &TermsAggregation{} }
func (a *TermsAggregation) Field(string) *TermsAggregation                       { return a }
func (a *TermsAggregation) SubAggregation(string, Aggregation) *TermsAggregation { return a }
func NewSearchSource() *SearchSource                                             { return &SearchSource{} }
func (s *SearchSource) Query(Query) *SearchSource                                { return s }
func (s *SearchSource) SortBy(...Sorter) *SearchSource                           { return s }
func (s *SearchSource) Size(int) *SearchSource                                   { return s }
func (s *SearchSource) SearchAfter(...any) *SearchSource                         { return s }
func (s *SearchSource) TrackTotalHits(any) *SearchSource                         { return s }
func (s *SearchSource) Aggregation(string, Aggregation) *SearchSource            { return s }
